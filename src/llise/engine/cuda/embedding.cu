// Feasible, stationary coordinates: one thread block for each block position (docs/math.md, eq. 25-36).
//
// Compiled at run time for P coordinates, K neighbours and THREADS threads.  Thread j works on image j and has its row
// of every matrix (n, P) in registers.  Shared memory holds the weights S and the inverse of a Cholesky factor, so that
// a position is solved without leaving the multiprocessor.  Rows of threads beyond the n images are zero.  Sums over
// images are made in the same order by all threads: all of them take the same decisions, and a result does not depend
// on the launch.
// rows.cuh and preconditioner.cuh come before it in the same source.

// What the objective needs at a point (eq. 26): rows of Y, SY, AY; theta_j and 1 / beta_j.
struct Point {
    Row Y, SY, AY;
    double theta, inverse;
};

// ---------------------------------------------------------------------------- objective, gradient, Hessian product

// This thread's row of S Y.
__device__ __forceinline__ Row times_S(int n, const Row &Y) {
    const Row *rows = exchanged(0, Y);
    Row out = zeros();
    if (J < n) {
#pragma unroll 5
        for (int r = 0; r < K; ++r) add(out, WEIGHTS[J * K + r], rows[NEIGHBOR[J * K + r]]);
    }
    return out;
}

// G - S'V.
__device__ __forceinline__ Row minus_St(int n, const Row &V, Row G) {
    const Row *rows = exchanged(1, V);
    if (J < n) {
        const int end = FIRST[J + 1];
#pragma unroll 4
        for (int e = FIRST[J]; e < end; ++e) add(G, -WEIGHTS[ENTRY[e]], rows[SOURCE[e]]);
    }
    return G;
}

// Fill the point for its Y, beta_j = |y_j|^2 + |(SY)_j|^2 + c; returns the sum of theta (eq. 26).
__device__ __forceinline__ double objective(int n, double c, Point &at) {
    at.SY = times_S(n, at.Y);
    at.AY = combined(1.0, at.Y, -1.0, at.SY);
    at.inverse = J < n ? 1.0 / (dot(at.Y, at.Y) + dot(at.SY, at.SY) + c) : 0.0;
    at.theta = dot(at.AY, at.AY) * at.inverse;
    return sum_of(at.theta);
}

// 2 [A' D(1/beta) A - D(tau) - S' D(tau) S] Y, tau = theta / beta (eq. 27).
__device__ __forceinline__ Row gradient(int n, const Point &at) {
    const double tau = at.theta * at.inverse;
    Row V = combined(2.0 * at.inverse, at.AY, 2.0 * tau, at.SY);
    return minus_St(n, V, combined(2.0 * at.inverse, at.AY, -2.0 * tau, at.Y));
}

// The derivative of the gradient along U (eq. 28-29).
__device__ __forceinline__ Row hessian(int n, const Point &at, const Row &U) {
    const Row SU = times_S(n, U);
    const Row AU = combined(1.0, U, -1.0, SU);
    const double tau = at.theta * at.inverse;
    const double slope = 2.0 * (dot(at.Y, U) + dot(at.SY, SU)) * at.inverse;  // derivative of log beta
    const double tau_slope = 2.0 * dot(at.AY, AU) * at.inverse * at.inverse - 2.0 * tau * slope;
    Row V, H;
#pragma unroll
    for (int i = 0; i < P; ++i) {
        const double v = at.inverse * (AU.x[i] - slope * at.AY.x[i]);
        V.x[i] = 2.0 * (v + tau * SU.x[i] + tau_slope * at.SY.x[i]);
        H.x[i] = 2.0 * (v - tau * U.x[i] - tau_slope * at.Y.x[i]);
    }
    return minus_St(n, V, H);
}

// -------------------------------------------------------------------------------------------------- Newton steps

// The P lowest eigenvectors of A'A among centred vectors, by inverse subspace iteration from Y (eq. 32).
__device__ __forceinline__ Row spectral_start(int n, Row Y) {
    prepare_solves(n, 1.0);
    Y = orthonormal(n, Y, 2);
    for (int round = 0; round < START_ROUNDS; ++round) {
        const Row old = Y;
        Y = orthonormal(n, solved(n, Y), 2);
        const double *T = cross(old, Y);
        double overlap = 0.0;
#pragma unroll
        for (int i = 0; i < P * P; ++i) overlap += T[i] * T[i];
        if (P - overlap / n / n < 1e-4 * P) break;
    }
    return Y;
}

// Truncated conjugate gradients on Hess[U] = -grad in the tangent space (eq. 35); SMALL(1) holds Y'G / n, symmetric.
__device__ __forceinline__ int newton_step(
    int n, const Point &at, const Row &R, const Row &MYC, double forcing, Row &U
) {
    const double *YG = SMALL(1);
    U = zeros();
    Row residual = R;
    const double first = sqrt(inner(residual, residual));
    Row Z = preconditioned(n, at.Y, MYC, residual);
    Row D = combined(-1.0, Z, 0.0, Z);
    double rz = inner(residual, Z);
    int products = 0;
    while (products < MAX_PRODUCTS) {
        ++products;
        Row H = hessian(n, at, D);
#pragma unroll
        for (int s = 0; s < P; ++s) {
#pragma unroll
            for (int i = 0; i < P; ++i) H.x[s] -= D.x[i] * YG[i * P + s];
        }
        H = projected(n, at.Y, H);
        const double curvature = inner(D, H);
        if (!(curvature > 0.0)) {  // negative curvature: a long step along D, which the line search shortens
            U = combined(sqrt((double)n * P / inner(D, D)), D, 1.0, U);
            break;
        }
        const double step = rz / curvature;
        U = combined(step, D, 1.0, U);
        residual = combined(step, H, 1.0, residual);
        if (sqrt(inner(residual, residual)) <= forcing * first) break;
        Z = preconditioned(n, at.Y, MYC, residual);
        const double fresh = inner(residual, Z);
        D = combined(-1.0, Z, fresh / rz, D);
        rz = fresh;
    }
    return products;
}

// Riemannian gradient R at a point; returns its size relative to the gradient's (eq. 36).
__device__ __forceinline__ double stationarity(int n, const Point &at, Row &R) {
    const Row G = gradient(n, at);
    R = projected(n, at.Y, G);  // which leaves Y'G in TOTALS
    for (int e = J; e < P * P; e += THREADS) SMALL(1)[e] = 0.5 / n * (TOTALS[e] + TOTALS[e % P * P + e / P]);
    double sizes[3] = {dot(R, R), dot(G, G), at.inverse * at.inverse};
    sum(sizes);
    return sqrt(sizes[0]) / fmax(sqrt(sizes[1]), 2e-8 * sqrt(P * sizes[2]));
}

// Go along U from Y as far as the objective decreases; false if it does not.
__device__ __forceinline__ bool line_search(
    int n, double c, const Row &Y, const Row &U, const Row &R, double &value, Point &at
) {
    double sizes[2] = {dot(U, U), dot(R, U)};
    sum(sizes);
    const double length = sqrt(sizes[0]), sign = sizes[1] > 0.0 ? -1.0 : 1.0, descent = -fabs(sizes[1]);
    double step = length > 0.0 ? fmin(1.0, sqrt((double)n * P) / length) : 0.0;
    // near the solution rounding hides the decrease: AY = Y - SY has errors of eps, alpha of eps sqrt(alpha beta)
    const double noise = 1e-15 * sqrt(n * value) + 1e-14 * value;
    for (int halving = 0; halving < 30; ++halving) {
        at.Y = orthonormal(n, combined(sign * step, U, 1.0, Y), 1);
        const double fresh = objective(n, c, at);
        if (fresh <= value + 1e-4 * step * descent + noise) {
            value = fresh;
            return true;
        }
        step *= 0.5;
    }
    return false;
}

// Riemannian Newton-CG with backtracking from Y; results: objective, stationarity, Hessian products.
__device__ __forceinline__ Row minimised(
    int n, double c, Row Y, double tol, int max_iter, int steps, double *results, double *history
) {
    Point at;
    Row R, U;
    at.Y = Y;
    double value = objective(n, c, at), relative;
    int products = 0;
    for (int iteration = 0;; ++iteration) {
        relative = stationarity(n, at, R);
        if (iteration < steps && J == 0) {
            history[2 * iteration] = value;
            history[2 * iteration + 1] = relative;
        }
        if (relative <= tol || iteration >= max_iter) break;
        if (iteration % 4 == 0) prepare_solves(n, at.inverse);
        const Row MYC = compressed(n, Y);
        // as accurate as Newton's method can use, but not beyond what is asked for
        const double forcing = fmax(fmin(0.1, sqrt(relative)), ENOUGH * tol / relative);
        products += newton_step(n, at, R, MYC, forcing, U);
        if (!line_search(n, c, Y, U, R, value, at)) break;
        Y = at.Y;
    }
    if (J == 0) {
        results[0] = value;
        results[1] = relative;
        results[2] = products;
    }
    return Y;
}

// ------------------------------------------------------------------------------------------ the whole of a position

// Cyclic Jacobi by one thread: A (P, P) becomes diagonal, the columns of V eigenvectors.
__device__ __noinline__ void jacobi(double *A, double *V) {
    for (int i = 0; i < P * P; ++i) V[i] = i % (P + 1) == 0 ? 1.0 : 0.0;
    bool last = false;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        double on = 0.0, off = 0.0;
        for (int r = 0; r < P; ++r) {
            on += A[r * P + r] * A[r * P + r];
            for (int s = r + 1; s < P; ++s) off += A[r * P + s] * A[r * P + s];
        }
        if (!(off >= 1e-31 * on) || off == 0.0 || last) break;
        last = off < 1e-24 * on;  // convergence is quadratic: one more sweep will do
        for (int p = 0; p < P - 1; ++p) {
            for (int q = p + 1; q < P; ++q) {
                const double apq = A[p * P + q], gap = A[q * P + q] - A[p * P + p];
                double tangent = 2.0 * apq / (fabs(gap) + sqrt(gap * gap + 4.0 * apq * apq) + 1e-300);
                tangent = gap >= 0.0 ? tangent : -tangent;
                const double cosine = rsqrt(1.0 + tangent * tangent), sine = tangent * cosine;
                for (int i = 0; i < P; ++i) {
                    const double x = A[i * P + p], y = A[i * P + q];
                    A[i * P + p] = cosine * x - sine * y;
                    A[i * P + q] = sine * x + cosine * y;
                }
                for (int i = 0; i < P; ++i) {
                    const double x = A[p * P + i], y = A[q * P + i], u = V[i * P + p], v = V[i * P + q];
                    A[p * P + i] = cosine * x - sine * y;
                    A[q * P + i] = sine * x + cosine * y;
                    V[i * P + p] = cosine * u - sine * v;
                    V[i * P + q] = sine * u + cosine * v;
                }
            }
        }
    }
}

// Coordinates are free up to a rotation: the one that diagonalises Y'A'AY, ascending, with positive third moments.
__device__ __forceinline__ void write_canonical(int n, const Row &Y, double *out) {
    double third[P];
    double *A = SMALL(0), *V = SMALL(1);
    const Row AY = combined(1.0, Y, -1.0, times_S(n, Y));
    const double *T = cross(AY, AY);
    if (J == 0) {
        for (int i = 0; i < P * P; ++i) A[i] = T[i];
        jacobi(A, V);
    }
    __syncthreads();
    Row turned = zeros();
#pragma unroll
    for (int t = 0; t < P; ++t) {
#pragma unroll
        for (int s = 0; s < P; ++s) turned.x[t] += V[s * P + t] * Y.x[s];
        third[t] = turned.x[t] * turned.x[t] * turned.x[t];
    }
    sum(third);
    if (J >= n) return;
#pragma unroll
    for (int t = 0; t < P; ++t) {
        int place = 0;  // of the eigenvalue t in ascending order
        for (int s = 0; s < P; ++s) {
            const double a = A[s * P + s], b = A[t * P + t];
            place += a < b || (a == b && s < t);
        }
        out[J * P + place] = third[t] < 0.0 ? -turned.x[t] : turned.x[t];
    }
}

// Fill the weights by rows and, for S', the entries of each column.
__device__ __forceinline__ void load_weights(int n, const double *weights, const long long *neighbors) {
    for (int e = J; e < n * K; e += THREADS) {
        WEIGHTS[e] = weights[e];
        NEIGHBOR[e] = (unsigned short)neighbors[e];
    }
    __syncthreads();
    if (J == 0) FIRST[n] = (unsigned short)(n * K);
    if (J < n) {
        int at = 0;
        for (int e = 0; e < n * K; ++e) at += NEIGHBOR[e] < J;  // entries of the columns before this one
        FIRST[J] = (unsigned short)at;
        for (int j = 0; j < n; ++j) {
            for (int e = j * K; e < (j + 1) * K; ++e) {
                if (NEIGHBOR[e] != J) continue;
                ENTRY[at] = (unsigned short)e;
                SOURCE[at++] = (unsigned short)j;
            }
        }
    }
    __syncthreads();
}

// weights, neighbors (b, n, K); start, out (b, n, P); results (b, 4): objective, stationarity, Hessian products,
// constraint violation; history (b, steps, 2): objective and stationarity by outer step.
extern "C" __global__ void __launch_bounds__(THREADS) exact_embedding(
    int n, double c, double tol, int max_iter, int steps, const double *weights, const long long *neighbors,
    const double *start, double *out, double *results, double *history
) {
    const size_t position = blockIdx.x;
    load_weights(n, weights + position * n * K, neighbors + position * n * K);
    Row Y = zeros();
    if (J < n) {
#pragma unroll
        for (int i = 0; i < P; ++i) Y.x[i] = start[(position * n + J) * P + i];
    }
    // a start that satisfies the constraints is taken as it is
    if (violation(n, Y) > 1e-8) Y = spectral_start(n, Y);
    double *result = results + position * 4;
    Y = minimised(n, c, Y, tol, max_iter, steps, result, history + position * steps * 2);
    const double worst = violation(n, Y);
    if (J == 0) result[3] = worst;
    write_canonical(n, Y, out + position * n * P);
}
