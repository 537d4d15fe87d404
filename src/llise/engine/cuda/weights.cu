// Reconstruction weights: one thread for each problem (docs/math.md, eq. 13-22).
//
// Compiled at run time for K neighbours.  A problem is one image at one block position: the Gram matrix K of its
// neighbours (gram), kv = <x, neighbours>, a = <x, x>.  A thread block is one warp; its working arrays lie in shared
// memory with the 32 problems side by side, so that the threads of the warp read neighbouring words.

#define LANES 32
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)

// An array of this thread's problem in shared memory.
struct Lane {
    double *first;
    __device__ __forceinline__ double &operator[](int i) const { return first[i * LANES]; }
    __device__ __forceinline__ Lane from(int i) const { return {first + i * LANES}; }
};

extern __shared__ __align__(16) double memory[];

// The objective f(w) of given weights (eq. 13).
extern "C" __global__ void reconstruction_values(
    long long problems, double c, const double *w, const double *gram, const double *kv, const double *a, double *out
) {
    const long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= problems) return;
    double own[K], quadratic = 0.0, linear = 0.0;
#pragma unroll
    for (int r = 0; r < K; ++r) own[r] = w[j * K + r];
    for (int r = 0; r < K; ++r) {
        double row = 0.0;
#pragma unroll
        for (int s = 0; s < K; ++s) row += gram[(j * K + r) * K + s] * own[s];
        quadratic += w[j * K + r] * row;
        linear += w[j * K + r] * kv[j * K + r];
    }
    out[j] = (a[j] + quadratic - 2.0 * linear) / (a[j] + quadratic + c);
}

// ------------------------------------------------------------------------------------------------ affine, 1'w = 1

// Solve L L' x = x in place; L is packed row by row, with the inverses of its pivots.
__device__ __forceinline__ void solve(const Lane &L, const Lane &x) {
    for (int r = 0; r < K; ++r) {
        double value = x[r];
        for (int s = 0; s < r; ++s) value -= L[r * (r + 1) / 2 + s] * x[s];
        x[r] = value * L[r * (r + 1) / 2 + r];
    }
    for (int r = K - 1; r >= 0; --r) {
        double value = x[r];
        for (int s = r + 1; s < K; ++s) value -= L[s * (s + 1) / 2 + r] * x[s];
        x[r] = value * L[r * (r + 1) / 2 + r];
    }
}

// Closed form: w = K^-1 (kv + mu 1) / L with L the positive root of eq. 21.
extern "C" __global__ void __launch_bounds__(LANES) affine_weights(
    long long problems, double c, double ridge, const double *gram, const double *kv, const double *a, double *w
) {
    const long long j = (long long)blockIdx.x * LANES + threadIdx.x;
    if (j >= problems) return;
    const Lane L = {memory + threadIdx.x}, u = L.from(K * (K + 1) / 2), v = u.from(K);
    gram += j * K * K;
    kv += j * K;
    // trace of LLE's local Gram = sum of squared distances to the neighbours (eq. 22)
    double trace = K * a[j];
    for (int r = 0; r < K; ++r) {
        u[r] = kv[r];
        v[r] = 1.0;
        for (int s = 0; s <= r; ++s) L[r * (r + 1) / 2 + s] = gram[r * K + s];
        trace += L[r * (r + 1) / 2 + r] - 2.0 * u[r];
    }
    double shift = ridge * trace / K;
    const double scale = a[j] + c;
    // all neighbours equal x: any weights do, the ridge makes them equal
    if (!(shift > 1e-12 * scale)) shift = ridge * 1e-6 * scale;
    for (int r = 0; r < K; ++r) {
        for (int s = 0; s <= r; ++s) {
            double value = L[r * (r + 1) / 2 + s] + (r == s ? shift : 0.0);
            for (int t = 0; t < s; ++t) value -= L[r * (r + 1) / 2 + t] * L[s * (s + 1) / 2 + t];
            L[r * (r + 1) / 2 + s] = r == s ? rsqrt(fmax(value, 1e-300)) : value * L[s * (s + 1) / 2 + s];
        }
    }
    solve(L, u);  // K^-1 kv
    solve(L, v);  // K^-1 1
    double al = 0.0, be = 0.0, ga = 0.0, total = 0.0;
    for (int r = 0; r < K; ++r) {
        al += kv[r] * u[r];
        be += u[r];
        ga += v[r];
    }
    const double lead = 1.0 / ga + a[j] + c, half = be / ga + 0.5 * c;
    double rest = al - be * be / ga;
    if (!(rest > 1e-12 * al)) rest = 0.0;  // rounding
    double root = (half + sqrt(fmax(half * half + lead * rest, 0.0))) / lead;
    // f >= 1 for every combination, and approaches 1 for ever larger weights: take LLE's
    if (!(root > 0.0)) root = 1.0;
    const double mu = (root - be) / ga;
    for (int r = 0; r < K; ++r) {
        u[r] = (u[r] + mu * v[r]) / root;
        total += u[r];
    }
    for (int r = 0; r < K; ++r) w[j * K + r] = u[r] / total;
}

// ------------------------------------------------------------------------------------------------ sphere, |w| = 1

// gram = sum of l l' over the rows l of L, greatest pivots first; returns their number, the rank.
__device__ __forceinline__ int pivoted_cholesky(const double *gram, const Lane &L, const Lane &left) {
    double greatest = 0.0;
    for (int r = 0; r < K; ++r) {
        left[r] = gram[r * K + r];
        greatest = fmax(greatest, left[r]);
    }
    for (int i = 0; i < K; ++i) {
        int pivot = 0;
        for (int r = 1; r < K; ++r) pivot = left[r] > left[pivot] ? r : pivot;
        if (!(left[pivot] > RANK * greatest)) return i;
        double row[K];
#pragma unroll
        for (int r = 0; r < K; ++r) row[r] = gram[pivot * K + r];
        for (int t = 0; t < i; ++t) {
            const double part = L[t * K + pivot];
#pragma unroll
            for (int r = 0; r < K; ++r) row[r] -= part * L[t * K + r];
        }
        const double scale = rsqrt(left[pivot]);
#pragma unroll
        for (int r = 0; r < K; ++r) {
            const bool open = left[r] >= 0.0;
            row[r] = open ? row[r] * scale : 0.0;
            L[i * K + r] = row[r];
            left[r] = open ? fmax(left[r] - row[r] * row[r], 0.0) : -1.0;
        }
        left[pivot] = -1.0;  // already used
    }
    return K;
}

// Rotate the first rows of X until they are orthogonal: X'X = U'diag(d) U, unit vectors in X, eigenvalues in d.
__device__ __forceinline__ void one_sided_jacobi(const Lane &X, const Lane &d, int rank) {
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        for (int i = 0; i < rank; ++i) {
            double square = 0.0;
#pragma unroll
            for (int r = 0; r < K; ++r) square += X[i * K + r] * X[i * K + r];
            d[i] = square;
        }
        double worst = 0.0;
        for (int p = 0; p < rank - 1; ++p) {
            double x[K], dp = d[p];
#pragma unroll
            for (int r = 0; r < K; ++r) x[r] = X[p * K + r];
            for (int q = p + 1; q < rank; ++q) {
                double y[K], inner = 0.0;
                const double dq = d[q];
#pragma unroll
                for (int r = 0; r < K; ++r) {
                    y[r] = X[q * K + r];
                    inner += x[r] * y[r];
                }
                const double skew = inner * inner / (dp * dq + 1e-300);
                if (!(skew > SKEW)) continue;
                worst = fmax(worst, skew);
                const double gap = dq - dp;
                double tangent = 2.0 * inner / (fabs(gap) + sqrt(gap * gap + 4.0 * inner * inner) + 1e-300);
                tangent = gap >= 0.0 ? tangent : -tangent;
                const double cosine = rsqrt(1.0 + tangent * tangent), sine = tangent * cosine;
                dp -= tangent * inner;
                d[q] = dq + tangent * inner;
#pragma unroll
                for (int r = 0; r < K; ++r) {
                    X[q * K + r] = sine * x[r] + cosine * y[r];
                    x[r] = cosine * x[r] - sine * y[r];
                }
            }
            d[p] = dp;
#pragma unroll
            for (int r = 0; r < K; ++r) X[p * K + r] = x[r];
        }
        if (worst <= LAST) break;
    }
    for (int i = 0; i < rank; ++i) {
        double square = 0.0;
#pragma unroll
        for (int r = 0; r < K; ++r) square += X[i * K + r] * X[i * K + r];
        d[i] = square;
        const double scale = 1.0 / (sqrt(square) + 1e-300);
#pragma unroll
        for (int r = 0; r < K; ++r) X[i * K + r] *= scale;
    }
}

// Subtract from x its part in the span of the first rows of U; returns the length of what is left.
__device__ __forceinline__ double project(const Lane &U, int count, const Lane &x) {
    for (int i = 0; i < count; ++i) {
        double inner = 0.0;
#pragma unroll
        for (int r = 0; r < K; ++r) inner += U[i * K + r] * x[r];
#pragma unroll
        for (int r = 0; r < K; ++r) x[r] -= inner * U[i * K + r];
    }
    double square = 0.0;
    for (int r = 0; r < K; ++r) square += x[r] * x[r];
    return sqrt(square);
}

__device__ __forceinline__ void exchange(const Lane &x, int i, int j) {
    const double value = x[i];
    x[i] = x[j];
    x[j] = value;
}

// The unit vector x along the part of kv outside the range of K; returns that part's length.
// Projected twice: what the first projection leaves may be rounding, which points anywhere.
__device__ __forceinline__ double null_direction(const Lane &U, int rank, const double *kv, const Lane &x) {
    for (int r = 0; r < K; ++r) x[r] = kv[r];
    const double length = project(U, rank, x);
    for (int r = 0; r < K; ++r) x[r] /= length + 1e-300;
    const double again = project(U, rank, x);
    for (int r = 0; r < K; ++r) x[r] /= again + 1e-300;
    return length;
}

// Hard case: the solution at t = 0, if it is no longer than one; L is then known in closed form (eq. 18).
__device__ __forceinline__ bool pole(
    const Lane &d, const Lane &g, int count, double least, double a, double c, const Lane &coordinates
) {
    double inner = 0.0, square = 0.0;
    for (int i = 0; i < count; ++i) {
        coordinates[i] = g[i] / (d[i] - least);
        inner += g[i] * coordinates[i];
        square += coordinates[i] * coordinates[i];
    }
    const double lead = a + c + least, L = 0.5 * (c + sqrt(c * c + 4.0 * lead * inner)) / lead;
    if (square > L * L) return false;
    for (int i = 0; i < count; ++i) coordinates[i] /= L;
    return true;
}

// The t >= 0 whose u = g / (d - least + t) has the length L(u / |u|), in one monotone equation (eq. 17).
// Newton on 1/|u|, nearly linear in t, from the left of the root and held between the nearest points on both sides.
__device__ __forceinline__ void secular(
    const Lane &d, const Lane &g, int count, double least, double a, double c, const Lane &coordinates
) {
    double size = 0.0, low = 0.0, high = INFINITE;
    for (int i = 0; i < count; ++i) size += g[i] * g[i];
    const double bound = (2.0 * sqrt(size) + c) / (a + c + least);  // L <= bound
    for (int i = 0; i < count; ++i) low = fmax(low, fabs(g[i]) / bound - (d[i] - least));
    double t = low;
    for (int step = 0; step < NEWTON; ++step) {
        double linear = 0.0, quadratic = 0.0, square = 0.0, slope = 0.0;
        for (int i = 0; i < count; ++i) {
            const double inverse = 1.0 / (d[i] - least + t + 1e-300), u = g[i] * inverse;
            linear += g[i] * u;
            quadratic += d[i] * u * u;
            square += u * u;
            slope += u * u * inverse;
        }
        const double excess = ((a + c) * square + quadratic) / (2.0 * linear + c * sqrt(square)) - 1.0;  // |u| / L - 1
        if (excess >= 0.0) {
            low = t;
        } else {
            high = t;
        }
        t += excess * square / slope;
        if (fabs(excess) <= 1e-9) break;  // convergence is quadratic: this step was the last
        if (!(low < t && t < high)) t = 0.5 * (low + high);
    }
    for (int i = 0; i < count; ++i) coordinates[i] = g[i] / (d[i] - least + t + 1e-300);
}

// Hard case: the missing length goes into N, where f does not see it (eq. 19).
// First so that the weights sum to one as nearly as they can, what is left towards the nearest neighbour that reaches
// into N.  The first rows of U span what is not N.
__device__ __forceinline__ void fill_null_space(
    const Lane &U, int count, const Lane &w, const Lane &ones, const Lane &direction
) {
    double missing = 1.0, total = 0.0, along = 0.0;
    for (int r = 0; r < K; ++r) {
        missing -= w[r] * w[r];
        total += w[r];
        ones[r] = 1.0;
    }
    missing = sqrt(fmax(missing, 0.0));
    const double reach = project(U, count, ones);
    const bool reaches = reach > REACH;
    if (reaches) along = fmin(fmax((1.0 - total) / reach, -missing), missing);
    for (int r = 0; r < K; ++r) ones[r] = reaches ? ones[r] / reach : 0.0;
    const double rest = sqrt(fmax(missing * missing - along * along, 0.0));
    for (int s = 0; s < K; ++s) {
        for (int r = 0; r < K; ++r) direction[r] = (r == s ? 1.0 : 0.0) - ones[s] * ones[r];
        const double length = project(U, count, direction);
        if (length > REACH) {
            for (int r = 0; r < K; ++r) w[r] += along * ones[r] + rest / length * direction[r];
            return;
        }
    }
    for (int r = 0; r < K; ++r) w[r] += (along >= 0.0 ? missing : -missing) * ones[r];  // N is one line, along the ones
}

// Global optimum from the non-zero eigenvalues of K and their vectors (eq. 15-19).
// The space N of the least eigenvalue is known by its complement: the rows of U that do not span it come first.
extern "C" __global__ void __launch_bounds__(LANES) sphere_weights(
    long long problems, double c, const double *gram, const double *kv, const double *norms, double *out
) {
    const long long j = (long long)blockIdx.x * LANES + threadIdx.x;
    if (j >= problems) return;
    const Lane U = {memory + threadIdx.x}, d = U.from(K * K), g = d.from(K), coordinates = g.from(K);
    const Lane direction = coordinates.from(K), w = direction.from(K);
    const double a = fmax(norms[j], 0.0);
    kv += j * K;
    const int rank = pivoted_cholesky(gram + j * K * K, U, d);
    one_sided_jacobi(U, d, rank);
    double least = rank == K ? d[0] : 0.0, scale = a + c;
    for (int r = 0; r < K; ++r) w[r] = kv[r];
    for (int i = 0; i < rank; ++i) {
        if (rank == K) least = fmin(least, d[i]);
        scale = fmax(scale, a + c + d[i]);
        double inner = 0.0;
#pragma unroll
        for (int r = 0; r < K; ++r) inner += U[i * K + r] * w[r];
        g[i] = inner;
    }
    int outside = 0;  // rows of U that do not span N
    for (int i = 0; i < rank; ++i) {
        if (!(d[i] - least > NULL_SPACE * scale)) continue;
        if (i != outside) {
            exchange(d, i, outside);
            exchange(g, i, outside);
            for (int r = 0; r < K; ++r) exchange(U.from(r), i * K, outside * K);
        }
        for (int r = 0; r < K; ++r) w[r] -= g[outside] * U[outside * K + r];
        ++outside;
    }
    double free = 0.0;  // squared part of kv in N, which may be rounding
    for (int r = 0; r < K; ++r) free += w[r] * w[r];
    bool hard = sqrt(free) <= HARD * scale;
    int count = hard ? outside : rank;
    if (!hard && rank < K) {
        free = null_direction(U, rank, kv, U.from(rank * K));
        hard = free <= HARD * scale;  // N is the null space alone: small eigenvalues count, as kv has parts there
        if (!hard) {
            d[rank] = 0.0;
            g[rank] = free;
            ++count;
        }
    }
    const bool is_short = hard && pole(d, g, count, least, a, c, coordinates);
    if (!is_short) secular(d, g, count, least, a, c, coordinates);
    for (int r = 0; r < K; ++r) w[r] = 0.0;
    for (int i = 0; i < count; ++i) {
#pragma unroll
        for (int r = 0; r < K; ++r) w[r] += coordinates[i] * U[i * K + r];
    }
    if (is_short) fill_null_space(U, count, w, coordinates, direction);
    double norm = 0.0;
    for (int r = 0; r < K; ++r) norm += w[r] * w[r];
    norm = sqrt(norm);
    for (int r = 0; r < K; ++r) out[j * K + r] = w[r] / norm;
}
