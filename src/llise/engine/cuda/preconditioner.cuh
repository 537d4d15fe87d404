// The preconditioner of the Newton steps: an inverse Cholesky factor in shared memory (docs/math.md, eq. 33-34).

// Row i of A' diag(d) A + (damping I + stiffness 11'/n) times its mean diagonal (eq. 33) by thread i, which goes
// through the rows of A that have an entry in column i; returns the mean diagonal.
__device__ __forceinline__ double assemble(int n, int order, double d) {
    const int i = J;
    double square = 1.0;
    if (i < n) {
        for (int e = i * K; e < (i + 1) * K; ++e) square += WEIGHTS[e] * WEIGHTS[e];
    }
    SCALARS[i] = d;
    const double mean = sum_of(i < n ? d * square / n : 0.0);
    if (i >= order) return mean;
    double *row = FACTOR + AT(i, 0);
    for (int t = 0; t <= i; ++t) row[t] = i < n ? STIFFNESS * mean / n : 0.0;
    row[i] += i < n ? DAMPING * mean + d : mean;  // the last tile is filled up with a diagonal matrix
    if (i >= n) return mean;
    for (int e = i * K; e < (i + 1) * K; ++e) {
        if (NEIGHBOR[e] <= i) row[NEIGHBOR[e]] -= d * WEIGHTS[e];
    }
    for (int e = FIRST[i]; e < FIRST[i + 1]; ++e) {
        const int j = SOURCE[e];
        const double u = SCALARS[j] * WEIGHTS[ENTRY[e]];
        if (j <= i) row[j] -= u;
        for (int s = j * K; s < (j + 1) * K; ++s) {
            if (NEIGHBOR[s] <= i) row[NEIGHBOR[s]] += u * WEIGHTS[s];
        }
    }
    return mean;
}

// Factor the corner of TILE columns, given as lower triangle, in place; pivots become their inverses.
__device__ __forceinline__ void factor_corner(double (&corner)[TILE][TILE], double floor) {
#pragma unroll
    for (int a = 0; a < TILE; ++a) {
#pragma unroll
        for (int t = 0; t < a; ++t) corner[a][a] -= corner[a][t] * corner[a][t];
        corner[a][a] = rsqrt(fmax(corner[a][a], floor));
#pragma unroll
        for (int b = a + 1; b < TILE; ++b) {
#pragma unroll
            for (int t = 0; t < a; ++t) corner[b][a] -= corner[b][t] * corner[a][t];
            corner[b][a] *= corner[a][a];
        }
    }
}

__device__ __forceinline__ void load_corner(int at, double (&corner)[TILE][TILE]) {
#pragma unroll
    for (int a = 0; a < TILE; ++a) {
        const double *row = FACTOR + AT(at + a, 0) + at;
#pragma unroll
        for (int b = 0; b <= a; ++b) corner[a][b] = row[b];
    }
}

// Lower Cholesky factor in place, TILE columns at a time; thread i works on row i.
__device__ __forceinline__ void cholesky(int order, double floor) {
    const int i = J;
    double *row = FACTOR + AT(i, 0);
    double corner[TILE][TILE], own[TILE];
    __syncthreads();
    for (int at = 0; at < order; at += TILE) {
        const bool here = i >= at && i < at + TILE, below = i >= at + TILE && i < order;
        double left[TILE];
        if (here || below) {
            const double *pivots[TILE];
#pragma unroll
            for (int a = 0; a < TILE; ++a) {
                pivots[a] = FACTOR + AT(at + a, 0);
                left[a] = at + a <= i ? row[at + a] : 0.0;
            }
#pragma unroll 4
            for (int t = 0; t < at; ++t) {
                const double x = row[t];
#pragma unroll
                for (int a = 0; a < TILE; ++a) left[a] -= x * pivots[a][t];
            }
        }
        if (here) {
#pragma unroll
            for (int a = 0; a < TILE; ++a) {
                if (at + a <= i) row[at + a] = left[a];
            }
        }
        __syncthreads();
        if (here || below) {
            load_corner(at, corner);
            factor_corner(corner, floor);
        }
        if (below) {
#pragma unroll
            for (int a = 0; a < TILE; ++a) {
#pragma unroll
                for (int t = 0; t < a; ++t) left[a] -= corner[a][t] * left[t];
                left[a] *= corner[a][a];
                row[at + a] = left[a];
            }
        }
        if (here) {
#pragma unroll
            for (int a = 0; a < TILE; ++a) {
#pragma unroll
                for (int b = 0; b < TILE; ++b) {
                    if (a == i - at) own[b] = b <= a ? corner[a][b] : 0.0;
                }
            }
        }
        __syncthreads();
    }
    // the rows of a corner are not needed before; others may read its values until here
    if (i < order) {
#pragma unroll
        for (int a = 0; a < TILE; ++a) {
            if (a <= i % TILE) row[i - i % TILE + a] = own[a];
        }
    }
    __syncthreads();
}

// The inverse of the lower factor in place, TILE rows at a time; thread c works on column c.
__device__ __forceinline__ void invert(int order) {
    const int c = J;
    double corner[TILE][TILE];
    for (int at = 0; at < order; at += TILE) {
        double left[TILE];
        if (c < at + TILE) {
            const double *rows[TILE];
#pragma unroll
            for (int a = 0; a < TILE; ++a) {
                rows[a] = FACTOR + AT(at + a, 0);
                left[a] = c == at + a ? 1.0 : 0.0;
            }
            load_corner(at, corner);
#pragma unroll 4
            for (int t = c; t < at; ++t) {
                const double x = FACTOR[AT(t, c)];
#pragma unroll
                for (int a = 0; a < TILE; ++a) left[a] -= rows[a][t] * x;
            }
#pragma unroll
            for (int a = 0; a < TILE; ++a) {
#pragma unroll
                for (int t = 0; t < a; ++t) left[a] -= corner[a][t] * left[t];
                left[a] *= corner[a][a];
            }
        }
        __syncthreads();
#pragma unroll
        for (int a = 0; a < TILE; ++a) {
            if (c <= at + a) FACTOR[AT(at + a, c)] = left[a];
        }
        __syncthreads();
    }
}

// Make the inverse factor of A' diag(d) A and its damping.
__device__ __noinline__ void prepare_solves(int n, double d) {
    __syncthreads();  // the last solution may still read the factor
    const int order = (n + TILE - 1) / TILE * TILE;
    const double mean = assemble(n, order, d);
    cholesky(order, 1e-14 * mean);
    invert(order);
}

// M^-1 R with M = L L' and the inverse of L at hand.
__device__ __noinline__ Row solved(int n, Row R) {
    const int j = J;
    const Row *rows = exchanged(0, R);
    Row half = zeros(), out = zeros();
    if (j < n) {
        const double *row = FACTOR + AT(j, 0);
#pragma unroll 4
        for (int t = 0; t <= j; ++t) add(half, row[t], rows[t]);
    }
    rows = exchanged(1, half);
    if (j < n) {
#pragma unroll 4
        for (int i = j; i < n; ++i) add(out, FACTOR[AT(i, j)], rows[i]);
    }
    return out;
}

// Rows of MYC = M^-1 Y C^-T, where C C' = Y' M^-1 Y; SMALL(0) receives C, with the inverses of its pivots (eq. 34).
__device__ __forceinline__ Row compressed(int n, const Row &Y) {
    Row MY = solved(n, Y);
    double C[P][P];
    centre(n, MY);
    const double *T = cross(Y, MY);
#pragma unroll
    for (int i = 0; i < P; ++i) {
#pragma unroll
        for (int s = 0; s <= i; ++s) {
            double value = 0.5 * (T[i * P + s] + T[s * P + i]);
#pragma unroll
            for (int t = 0; t < s; ++t) value -= C[i][t] * C[s][t];
            C[i][s] = i == s ? rsqrt(fmax(value, 1e-300)) : value * C[s][s];
            if (J == 0) SMALL(0)[i * P + s] = C[i][s];
        }
#pragma unroll
        for (int s = 0; s < i; ++s) MY.x[i] -= C[i][s] * MY.x[s];
        MY.x[i] *= C[i][i];
    }
    return MY;
}

// M^-1 R made tangent: M^-1 (R - Y lambda) with Y'Z = 0, centred (eq. 34).
__device__ __forceinline__ Row preconditioned(int n, const Row &Y, const Row &MYC, const Row &R) {
    Row Z = solved(n, R);
    centre(n, Z);
    const double *C = SMALL(0), *T = cross(Y, Z);
#pragma unroll
    for (int s = 0; s < P; ++s) {
        double part[P];  // column s of C^-1 Y'Z
#pragma unroll
        for (int i = 0; i < P; ++i) {
            part[i] = T[i * P + s];
#pragma unroll
            for (int t = 0; t < i; ++t) part[i] -= C[i * P + t] * part[t];
            part[i] *= C[i * P + i];
            Z.x[s] -= MYC.x[i] * part[i];
        }
    }
    return Z;
}
