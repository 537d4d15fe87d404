// Shared memory of a block position, rows of matrices (n, P), and sums over images (embedding.cu).

#define TILE 4            // columns of the Cholesky factor that are made together
#define SUMS (P * P + P)  // most sums over images that are made together
#define ENTRIES (THREADS * K)
#define J ((int)threadIdx.x)  // the image of this thread

// Shared memory, in numbers of 8 bytes; shared_bytes() in cuda_embedding.py says how much there is.
extern __shared__ __align__(16) double memory[];
#define ROWS(turn) ((Row *)memory + (turn) * THREADS)         // two matrices (n, P) to exchange rows
#define PARTS (memory + 2 * THREADS * P)                      // sums of each warp
#define TOTALS (PARTS + THREADS / 32 * SUMS)                  // sums of all threads
#define SMALL(i) (TOTALS + SUMS + (i) * P * P)                // two matrices (P, P)
#define SCALARS SMALL(2)                                      // a number for each image
#define WEIGHTS (SCALARS + THREADS)                       // S, row j on the neighbours of image j
#define NEIGHBOR ((unsigned short *)(WEIGHTS + ENTRIES))  // of each weight
#define ENTRY (NEIGHBOR + ENTRIES)                        // the weights of each column of S, one column after the other
#define SOURCE (ENTRY + ENTRIES)                          // the rows that these stand in
#define FIRST (SOURCE + ENTRIES)                          // first entry of each column, and the end of the last one
#define FACTOR ((double *)(FIRST + THREADS + 32))         // lower triangle, packed row by row
#define AT(i, t) ((i) * ((i) + 1) / 2 + (t))              // where it has element (i, t)

struct __align__(P % 2 ? 8 : 16) Row {
    double x[P];
};

__device__ __forceinline__ Row zeros() {
    Row row;
#pragma unroll
    for (int i = 0; i < P; ++i) row.x[i] = 0.0;
    return row;
}

// a X + b Y.
__device__ __forceinline__ Row combined(double a, const Row &X, double b, const Row &Y) {
    Row row;
#pragma unroll
    for (int i = 0; i < P; ++i) row.x[i] = a * X.x[i] + b * Y.x[i];
    return row;
}

__device__ __forceinline__ double dot(const Row &X, const Row &Y) {
    double total = 0.0;
#pragma unroll
    for (int i = 0; i < P; ++i) total += X.x[i] * Y.x[i];
    return total;
}

// X += a Y.
__device__ __forceinline__ void add(Row &X, double a, const Row &Y) {
#pragma unroll
    for (int i = 0; i < P; ++i) X.x[i] += a * Y.x[i];
}

// Sums over a warp of COUNT values, a power of two of 32 at the most: thread J % 32 has that of value
// J % 32 / (32 / COUNT) in the end.  While there are two values or more, a thread gives one half of them to its partner
// and takes over the other half.
template <int COUNT, int DISTANCE = 16> __device__ __forceinline__ void warp_sums(double *values) {
    if constexpr (COUNT > 1) {
        const bool upper = J & DISTANCE;
#pragma unroll
        for (int i = 0; i < COUNT / 2; ++i) {
            const double low = values[i], high = values[i + COUNT / 2];
            values[i] = (upper ? high : low) + __shfl_xor_sync(0xffffffffu, upper ? low : high, DISTANCE);
        }
        if constexpr (DISTANCE > 1) warp_sums<COUNT / 2, DISTANCE / 2>(values);
    } else {
        values[0] += __shfl_xor_sync(0xffffffffu, values[0], DISTANCE);
        if constexpr (DISTANCE > 1) warp_sums<1, DISTANCE / 2>(values);
    }
}

// Put the sums over a warp of any number of values into place, by powers of two.
template <int COUNT, int SIZE = 32> __device__ __forceinline__ void put_warp_sums(double *values, double *place) {
    if constexpr (COUNT >= SIZE) {
        warp_sums<SIZE>(values);
        if (J % (32 / SIZE) == 0) place[J % 32 / (32 / SIZE)] = values[0];
        put_warp_sums<COUNT - SIZE, SIZE>(values + SIZE, place + SIZE);
    } else if constexpr (COUNT > 0) {
        put_warp_sums<COUNT, SIZE / 2>(values, place);
    }
}

// Replace values by their sums over all threads.
template <int COUNT> __device__ __forceinline__ void sum(double (&values)[COUNT]) {
    __syncthreads();  // the parts of the sums before have been read
    put_warp_sums<COUNT>(values, PARTS + J / 32 * COUNT);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) values[i] = PARTS[i];
#pragma unroll
    for (int warp = 1; warp < THREADS / 32; ++warp) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) values[i] += PARTS[warp * COUNT + i];
    }
}

__device__ __forceinline__ double sum_of(double value) {
    double values[1] = {value};
    sum(values);
    return values[0];
}

// tr(X'Y).
__device__ __forceinline__ double inner(const Row &X, const Row &Y) {
    return sum_of(dot(X, Y));
}

// Put this thread's row beside those of the others, in one of two places in turn; returns all of them.
__device__ __forceinline__ const Row *exchanged(int turn, const Row &row) {
    ROWS(turn)[J] = row;
    __syncthreads();
    return ROWS(turn);
}

// X'Y (P, P), then the sums of Y, in shared memory until the next call.
__device__ __noinline__ const double *cross(Row X, Row Y) {
    double values[SUMS];
#pragma unroll
    for (int i = 0; i < P; ++i) {
#pragma unroll
        for (int s = 0; s < P; ++s) values[i * P + s] = X.x[i] * Y.x[s];
        values[P * P + i] = Y.x[i];
    }
    __syncthreads();  // the parts of the sums before have been read
    put_warp_sums<SUMS>(values, PARTS + J / 32 * SUMS);
    __syncthreads();
    for (int i = J; i < SUMS; i += THREADS) {
        double total = PARTS[i];
        for (int warp = 1; warp < THREADS / 32; ++warp) total += PARTS[warp * SUMS + i];
        TOTALS[i] = total;
    }
    __syncthreads();
    return TOTALS;
}

// Remove the mean over the images.
__device__ __forceinline__ void centre(int n, Row &row) {
    double means[P];
#pragma unroll
    for (int i = 0; i < P; ++i) means[i] = row.x[i];
    sum(means);
    if (J < n) {
#pragma unroll
        for (int i = 0; i < P; ++i) row.x[i] -= means[i] * (1.0 / n);
    }
}

// U - Y Y'U / n, centred (eq. 30).
__device__ __forceinline__ Row projected(int n, const Row &Y, Row U) {
    const double *T = cross(Y, U);
    if (J < n) {
#pragma unroll
        for (int s = 0; s < P; ++s) {
            double part = T[P * P + s];
#pragma unroll
            for (int i = 0; i < P; ++i) part += Y.x[i] * T[i * P + s];
            U.x[s] -= part * (1.0 / n);
        }
    }
    return U;
}

// Columns centred, orthogonal and of squared length n: modified Gram-Schmidt (eq. 31).
// One round does for columns that are nearly orthogonal already, two for any.  A column that vanishes is replaced by
// a cosine of the image index.
__device__ __noinline__ Row orthonormal(int n, Row Y, int rounds) {
    double before[P];  // with their means: a constant column vanishes too
    double products[P];
#pragma unroll
    for (int i = 0; i < P; ++i) before[i] = Y.x[i] * Y.x[i];
    sum(before);
    int spare = 1;
    for (int round = 0; round < rounds; ++round) {
        centre(n, Y);
#pragma unroll
        for (int i = 0; i < P; ++i) {
            while (true) {
#pragma unroll
                for (int s = 0; s < P; ++s) products[s] = s >= i ? Y.x[i] * Y.x[s] : 0.0;
                sum(products);
                if (round > 0 || products[i] > 1e-20 * before[i] || spare >= n) break;
                Y.x[i] = J < n ? cos(3.14159265358979323846 * spare * (J + 0.5) / n) : 0.0;
#pragma unroll
                for (int s = 0; s < i; ++s) Y.x[i] -= sum_of(Y.x[s] * Y.x[i]) / n * Y.x[s];
                before[i] = 0.5 * n;
                ++spare;
            }
#pragma unroll
            for (int s = i + 1; s < P; ++s) Y.x[s] -= products[s] * (1.0 / products[i]) * Y.x[i];
            Y.x[i] *= sqrt(n / products[i]);
        }
    }
    return Y;
}

// max of |mean of Y| and |Y'Y / n - I| (eq. 31).
__device__ __forceinline__ double violation(int n, const Row &Y) {
    const double *T = cross(Y, Y);
    double worst = 0.0;
#pragma unroll
    for (int i = 0; i < P; ++i) {
        worst = fmax(worst, fabs(T[P * P + i] / n));
#pragma unroll
        for (int s = 0; s <= i; ++s) worst = fmax(worst, fabs(T[i * P + s] / n - (i == s ? 1.0 : 0.0)));
    }
    return worst;
}
