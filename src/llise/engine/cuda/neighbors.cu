// The nearest neighbours of images and the local problems that their weights solve (docs/math.md, eq. 5-6 and 12).
//
// Compiled at run time for K neighbours; the products are float or double (VALUE).

#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

extern __shared__ __align__(16) double memory[];

// Keep the K smallest finite values in ascending order; equal values keep their order.  The lists of all threads of a
// block lie side by side.
struct Smallest {
    double *value;   // of this thread's list; the next place is blockDim.x further
    int *index;
    int filled;
    double worst;

    __device__ __forceinline__ void take(double candidate, int r) {
        if (!(candidate < worst)) return;
        int slot = filled < K ? filled : K - 1;
        while (slot > 0 && value[(slot - 1) * blockDim.x] > candidate) {
            value[slot * blockDim.x] = value[(slot - 1) * blockDim.x];
            index[slot * blockDim.x] = index[(slot - 1) * blockDim.x];
            --slot;
        }
        value[slot * blockDim.x] = candidate;
        index[slot * blockDim.x] = r;
        if (++filled >= K) worst = value[(K - 1) * blockDim.x];
    }
};

__device__ __forceinline__ Smallest empty_list() {
    Smallest list;
    list.value = memory + threadIdx.x;
    list.index = (int *)(memory + blockDim.x * K) + threadIdx.x;
    list.filled = 0;
    list.worst = INFINITE;
    for (int slot = 0; slot < K; ++slot) list.index[slot * blockDim.x] = 0;
    return list;
}

// The K training images nearest to each image: smallest |x_r|^2 - 2 <x, x_r> (eq. 12), one thread for each image.
// products (b, m, n), norms (b, n), identical (m), out (b, m, K).
extern "C" __global__ void nearest(
    long long images, int m, int n, int exclude_self, const double *products, const double *norms,
    const long long *identical, long long *out
) {
    const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= images) return;
    const int j = (int)(row % m);
    const long long same = identical[j];
    products += row * n;
    norms += row / m * n;
    Smallest list = empty_list();
    for (int r = 0; r < n; ++r) {
        double distance = norms[r] - 2.0 * products[r];
        if (exclude_self && r == j) distance = INFINITE;
        if (r == same) distance = -INFINITE;
        list.take(distance, r);
    }
    for (int slot = 0; slot < K; ++slot) out[row * K + slot] = list.index[slot * blockDim.x];
}

// Neighbours and problems K, kv, a of the training images, one thread block for each block position, thread j for
// image j.  The centred Gram matrix (q x'y - s_x s_y) factor + g_x g_y (eq. 5-6) stays in shared memory: its lower
// triangle, packed row by row.  products (b, n, n), sums, luminance (b, n); luminance may be null.
extern "C" __global__ void training_problems(
    int n, double q, double factor, const VALUE *products, const double *sums, const double *luminance,
    long long *neighbors, double *local, double *kv, double *norms
) {
    const int j = threadIdx.x, threads = blockDim.x;
    const size_t position = blockIdx.x;
    double *gram = memory + threads * K + (threads * K + 1) / 2;
    products += position * n * n;
    sums += position * n;
    for (int e = j; e < n * n; e += threads) {
        const int i = e / n, r = e % n;
        if (r > i) continue;
        double value = (q * (double)products[e] - sums[i] * sums[r]) * factor;
        if (luminance) value += luminance[position * n + i] * luminance[position * n + r];
        gram[i * (i + 1) / 2 + r] = value;
    }
    __syncthreads();
    Smallest list = empty_list();
    if (j < n) {
        norms[position * n + j] = gram[j * (j + 1) / 2 + j];
        for (int r = 0; r < n; ++r) {
            const double product = r < j ? gram[j * (j + 1) / 2 + r] : gram[r * (r + 1) / 2 + j];
            if (r != j) list.take(gram[r * (r + 1) / 2 + r] - 2.0 * product, r);
        }
    }
    __syncthreads();
    const int *index = list.index - j;  // of image 0
    for (int e = j; e < n * K; e += threads) {
        const int i = e / K, r = index[e % K * threads + i];
        neighbors[position * n * K + e] = r;
        kv[position * n * K + e] = r < i ? gram[i * (i + 1) / 2 + r] : gram[r * (r + 1) / 2 + i];
    }
    for (int e = j; e < n * K * K; e += threads) {
        const int i = e / (K * K), r = index[e / K % K * threads + i], s = index[e % K * threads + i];
        local[position * n * K * K + e] = r > s ? gram[r * (r + 1) / 2 + s] : gram[s * (s + 1) / 2 + r];
    }
}

// Inner products among the training blocks that are the neighbours of an image, one thread block for each image.
// values (b, n, q), neighbors (b, m, K), out (b, m, K, K).  In float there are only integers, whose sums are exact.
extern "C" __global__ void local_products(
    int m, int n, int q, const VALUE *values, const long long *neighbors, double *out
) {
    const size_t image = blockIdx.x;
    const int width = q | 1;  // an odd number: the rows begin in different banks of the memory
    VALUE *rows = (VALUE *)memory;
    values += image / m * n * q;
    for (int e = threadIdx.x; e < K * q; e += blockDim.x)
        rows[e / q * width + e % q] = values[neighbors[image * K + e / q] * q + e % q];
    __syncthreads();
    for (int e = threadIdx.x; e < K * K; e += blockDim.x) {
        const VALUE *x = rows + e / K * width, *y = rows + e % K * width;
        VALUE total = 0;
        for (int t = 0; t < q; ++t) total += x[t] * y[t];
        out[image * K * K + e] = total;
    }
}

// (q x'y - s_x s_y) factor + g_x g_y (eq. 5-6) of products (b, m, K, K) among neighbours (b, m, K), one thread for each
// product.  sums, luminance (b, n); luminance may be null.
extern "C" __global__ void centred_local_products(
    long long count, int m, int n, double q, double factor, const double *products, const long long *neighbors,
    const double *sums, const double *luminance, double *out
) {
    const long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const long long image = e / (K * K), first = image / m * n;  // of the position's training blocks
    const long long i = first + neighbors[image * K + e / K % K], j = first + neighbors[image * K + e % K];
    double value = (q * products[e] - sums[i] * sums[j]) * factor;
    if (luminance) value += luminance[i] * luminance[j];
    out[e] = value;
}
