// Draws of rows, as in rows.cu, for one padded rank; parameters without a name are those that kernels of any rank need.

// One concept is fixed. Sums of padding are zero, so systems may have all of them.
static const int FREE = PAD - 1;
static const int BELOW = FREE * (FREE + 1) / 2;

DEVICE constexpr int below(int k, int l) { return k * (k + 1) / 2 + l; }

#if PAD <= 12

// A thread for each row, whose system is in registers.
struct Solver {
    double triangle[BELOW];
    double side[FREE];

    DEVICE void factorize() {
#pragma unroll
        for (int j = 0; j < FREE; ++j) {
            double diagonal = triangle[below(j, j)], rest = diagonal;
#pragma unroll
            for (int k = 0; k < j; ++k) rest -= triangle[below(j, k)] * triangle[below(j, k)];
            double inverse = 1.0 / sqrt(at_least(at_least(rest, LEAST_PIVOT * diagonal), LEAST_NUMBER));
            // The inverse of the pivot is what solutions need.
            triangle[below(j, j)] = inverse;
#pragma unroll
            for (int i = j + 1; i < FREE; ++i) {
                double sum = triangle[below(i, j)];
#pragma unroll
                for (int k = 0; k < j; ++k) sum -= triangle[below(i, k)] * triangle[below(j, k)];
                triangle[below(i, j)] = sum * inverse;
            }
        }
    }

    DEVICE void solve_lower() {
#pragma unroll
        for (int i = 0; i < FREE; ++i) {
#pragma unroll
            for (int k = 0; k < i; ++k) side[i] -= triangle[below(i, k)] * side[k];
            side[i] *= triangle[below(i, i)];
        }
    }

    DEVICE void solve_upper() {
#pragma unroll
        for (int i = FREE - 1; i >= 0; --i) {
            side[i] *= triangle[below(i, i)];
#pragma unroll
            for (int k = 0; k < i; ++k) side[k] -= triangle[below(i, k)] * side[i];
        }
    }
};

// With terms or without: one kernel for both would have fewer registers left for rows that have none.
template <bool TERMS>
DEVICE void draw_row(u32 mode, u32 rows, u32 rank, const float* __restrict__ sums, const float* __restrict__ squares,
                     const float* __restrict__ means, Terms terms, const float* __restrict__ roots,
                     const Scalars* __restrict__ scalars, u64 seed, u32 epoch, float* __restrict__ factor,
                     double* __restrict__ errors) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Solver solver;
    const float* own = sums + (u64)row * (TRIANGLE + PAD);
    const float* mean = means ? means + (u64)row * rank : nullptr;
    double weight = weight_of_row(scalars, roots, row);
#pragma unroll
    for (int k = 0; k < FREE; ++k) {
        double prior = prior_of(scalars, k + 1);
#pragma unroll
        for (int l = 0; l <= k; ++l) {
            double& number = solver.triangle[below(k, l)];
            number = weight * (double)own[below(k + 1, l + 1)] + (l == k ? prior : 0.0);
            if (TERMS) number += terms.precision(row, k + 1, l + 1);
        }
        solver.side[k] = pull_of(own, TRIANGLE, k + 1, weight, prior, k + 1 < rank ? mean : nullptr);
        if (TERMS && k + 1 < rank) solver.side[k] += terms.side(row, rank, k + 1);
    }
    solver.factorize();
    solver.solve_lower();
#pragma unroll
    for (int k = 0; k < FREE; ++k) {
        Random random(seed, ROWS, mode, row, epoch);
        random.counter[3] = k;
        // Padding stays zero.
        if (k + 1 < rank) solver.side[k] += random.normal();
    }
    solver.solve_upper();
    double error = squares[row];
#pragma unroll
    for (int k = 0; k < PAD; ++k) {
        double value = k == 0 ? 1.0 : solver.side[k > 0 ? k - 1 : 0], product = 0.0;
#pragma unroll
        for (int l = 0; l < k; ++l) {
            product += (double)own[below(k, l)] * (l == 0 ? 1.0 : solver.side[l > 0 ? l - 1 : 0]);
        }
        product = 2.0 * product + (double)own[below(k, k)] * value;
        error += value * (product - 2.0 * (double)own[TRIANGLE + k]);
        factor[(u64)row * PAD + k] = (float)value;
    }
    errors[row] = at_least(error, 0.0);
}

KERNEL BOUNDS(128, 2) draw_rows(u32 mode, u32 rows, u32 rank, u32, u32, const float* __restrict__ sums,
                                const float* __restrict__ squares, const float* __restrict__ means, const float*,
                                const float*, const float*, const float* __restrict__ roots,
                                const Scalars* __restrict__ scalars, u64 seed, u32 epoch, float* __restrict__ factor,
                                double* __restrict__ errors, double*) {
    Terms none = {nullptr, nullptr, nullptr};
    draw_row<false>(mode, rows, rank, sums, squares, means, none, roots, scalars, seed, epoch, factor, errors);
}
REGISTER(draw_rows)

KERNEL BOUNDS(128, 2) draw_rows_terms(u32 mode, u32 rows, u32 rank, u32, u32, const float* __restrict__ sums,
                                      const float* __restrict__ squares, const float* __restrict__ means,
                                      const float* __restrict__ pulls, const float* __restrict__ diagonals,
                                      const float* __restrict__ shared, const float* __restrict__ roots,
                                      const Scalars* __restrict__ scalars, u64 seed, u32 epoch,
                                      float* __restrict__ factor, double* __restrict__ errors, double*) {
    Terms terms = {pulls, diagonals, shared};
    draw_row<true>(mode, rows, rank, sums, squares, means, terms, roots, scalars, seed, epoch, factor, errors);
}
REGISTER(draw_rows_terms)

KERNEL BOUNDS(128, 2) mean_rows(u32 rows, u32 rank, u32, u32, const float* __restrict__ natural,
                                float* __restrict__ factor, double*) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    Solver solver;
    u32 free = rank - 1, len = free * (free + 1) / 2;
    const float* own = natural + (u64)row * (len + free);
#pragma unroll
    for (int k = 0; k < FREE; ++k) {
#pragma unroll
        for (int l = 0; l <= k; ++l) solver.triangle[below(k, l)] = k < free ? own[below(k, l)] : l == k ? 1.0 : 0.0;
        solver.side[k] = k < free ? own[len + k] : 0.0;
    }
    solver.factorize();
    solver.solve_lower();
    solver.solve_upper();
    factor[(u64)row * PAD] = 1.0f;
#pragma unroll
    for (int k = 0; k < FREE; ++k) factor[(u64)row * PAD + k + 1] = (float)solver.side[k];
}
REGISTER(mean_rows)

#else

// A warp for each row. The triangle is in shared memory; lanes have every 32nd row of it, of which they compute a few columns
// at a time in registers.
static const int HELD = (FREE + 31) / 32;
static const int PANEL = 8;
// Doubles of a warp: the host has the same number.
static const int SYSTEM = BELOW + PAD;

struct Solver {
    u32 lane;
    double* triangle;
    // Of the lane's rows: the diagonal as it was, the inverses of pivots, the right side.
    double diagonal[HELD];
    double inverse[HELD];
    double side[HELD];

    // The columns whose diagonal is in the rows that lanes have as their `HELDTH`. A template, so that it is known which these are,
    // and everything is in registers; nor do compilers unroll loops in which lanes exchange values.
    template <int HELDTH>
    DEVICE void factorize_part() {
        const int end = FREE - HELDTH * 32 < 32 ? FREE : HELDTH * 32 + 32;
        for (int first = HELDTH * 32; first < end; first += PANEL) {
            double sums[HELD][PANEL];
#pragma unroll
            for (int h = HELDTH; h < HELD; ++h) {
                int i = h * 32 + lane;
#pragma unroll
                for (int c = 0; c < PANEL; ++c) {
                    int j = first + c;
                    sums[h][c] = j <= i && i < FREE ? triangle[below(i, j)] : 0.0;
                }
            }
            for (int k = 0; k < first; ++k) {
                double left[HELD];
#pragma unroll
                for (int h = HELDTH; h < HELD; ++h) {
                    int i = h * 32 + lane;
                    left[h] = i >= first && i < FREE ? triangle[below(i, k)] : 0.0;
                }
#pragma unroll
                for (int c = 0; c < PANEL; ++c) {
                    double right = first + c < FREE ? triangle[below(first + c, k)] : 0.0;
#pragma unroll
                    for (int h = HELDTH; h < HELD; ++h) sums[h][c] -= left[h] * right;
                }
            }
#pragma unroll
            for (int c = 0; c < PANEL; ++c) {
                int j = first + c;
                if (j < FREE) {
                    // The lane that has the row says what its pivot is.
                    if (j % 32 == lane) {
                        double least = at_least(LEAST_PIVOT * diagonal[HELDTH], LEAST_NUMBER);
                        inverse[HELDTH] = 1.0 / sqrt(at_least(sums[HELDTH][c], least));
                        triangle[below(j, j)] = inverse[HELDTH];
                    }
                    __syncwarp();
                    double pivot = triangle[below(j, j)];
#pragma unroll
                    for (int h = HELDTH; h < HELD; ++h) {
                        int i = h * 32 + lane;
                        sums[h][c] *= pivot;
                        if (i > j && i < FREE) triangle[below(i, j)] = sums[h][c];
                    }
                    __syncwarp();
#pragma unroll
                    for (int later = c + 1; later < PANEL; ++later) {
                        double right = first + later < FREE ? triangle[below(first + later, j)] : 0.0;
#pragma unroll
                        for (int h = HELDTH; h < HELD; ++h) sums[h][later] -= sums[h][c] * right;
                    }
                }
            }
        }
        __syncwarp();
    }

    DEVICE void factorize() {
        factorize_part<0>();
        if (HELD > 1) factorize_part<HELD - 1>();
    }

    // The values of these rows, and what follows for others.
    template <int HELDTH>
    DEVICE void solve_lower_part() {
        const int end = FREE - HELDTH * 32 < 32 ? FREE - HELDTH * 32 : 32;
        for (int from = 0; from < end; ++from) {
            int i = HELDTH * 32 + from;
            double value = __shfl_sync(WHOLE_WARP, side[HELDTH] * inverse[HELDTH], from);
#pragma unroll
            for (int h = HELDTH; h < HELD; ++h) {
                int j = h * 32 + lane;
                if (j == i) side[h] = value;
                if (j > i && j < FREE) side[h] -= triangle[below(j, i)] * value;
            }
        }
    }

    template <int HELDTH>
    DEVICE void solve_upper_part() {
        const int end = FREE - HELDTH * 32 < 32 ? FREE - HELDTH * 32 : 32;
        for (int from = end - 1; from >= 0; --from) {
            int i = HELDTH * 32 + from;
            double value = __shfl_sync(WHOLE_WARP, side[HELDTH] * inverse[HELDTH], from);
#pragma unroll
            for (int h = 0; h <= HELDTH; ++h) {
                int j = h * 32 + lane;
                if (j == i) side[h] = value;
                if (j < i) side[h] -= triangle[below(i, j)] * value;
            }
        }
    }

    DEVICE void solve_lower() {
        solve_lower_part<0>();
        if (HELD > 1) solve_lower_part<HELD - 1>();
    }

    DEVICE void solve_upper() {
        if (HELD > 1) solve_upper_part<HELD - 1>();
        solve_upper_part<0>();
    }
};

// Visits the numbers of a triangle, some of them on their way at a time; each lane has every 32nd.
template <class F>
DEVICE void each_number(const float* __restrict__ triangle, u32 lane, F visit) {
    const int SOME = 8;
    int k = 0, l = lane;
    for (int first = lane; first < TRIANGLE; first += SOME * 32) {
        float numbers[SOME];
#pragma unroll
        for (int i = 0; i < SOME; ++i) numbers[i] = first + i * 32 < TRIANGLE ? triangle[first + i * 32] : 0.0f;
#pragma unroll
        for (int i = 0; i < SOME; ++i) {
            while (l > k) l -= ++k;
            if (first + i * 32 < TRIANGLE) visit(first + i * 32, k, l, numbers[i]);
            l += 32;
        }
    }
}

KERNEL draw_rows(u32 mode, u32 rows, u32 rank, u32, u32, const float* __restrict__ sums, const float* __restrict__ squares,
                 const float* __restrict__ means, const float* __restrict__ pulls, const float* __restrict__ diagonals,
                 const float* __restrict__ shared, const float* __restrict__ roots, const Scalars* __restrict__ scalars,
                 u64 seed, u32 epoch, float* __restrict__ factor, double* __restrict__ errors, double*) {
    u32 row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    // Whole warps: lanes wait for each other, warps for nobody.
    if (row >= rows) return;
    Solver solver;
    solver.lane = threadIdx.x % 32;
    solver.triangle = SHARED(double) + threadIdx.x / 32 * SYSTEM;
    double* drawn = solver.triangle + BELOW;
    u32 lane = solver.lane, free = rank - 1;
    const float* own = sums + (u64)row * (TRIANGLE + PAD);
    const float* mean = means ? means + (u64)row * rank : nullptr;
    double weight = weight_of_row(scalars, roots, row);
    each_number(own, lane, [&](int place, int k, int l, float number) {
        if (l == 0) return;
        double prior = prior_of(scalars, k);
        // One row and one column less.
        solver.triangle[place - k - 1] = weight * (double)number + (l == k ? prior : 0.0);
    });
    Terms terms = {pulls, diagonals, shared};
    if (shared) {
        // Each lane has the numbers again that it has just written.
        each_number(shared, lane, [&](int place, int k, int l, float number) {
            if (l > 0) solver.triangle[place - k - 1] += (double)number;
        });
    }
    __syncwarp();
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        int k = h * 32 + lane;
        solver.diagonal[h] = solver.inverse[h] = solver.side[h] = 0.0;
        if (k >= FREE) continue;
        solver.side[h] = pull_of(own, TRIANGLE, k + 1, weight, prior_of(scalars, k + 1), k < free ? mean : nullptr);
        if (pulls && k < free) solver.side[h] += terms.side(row, rank, k + 1);
        if (diagonals) solver.triangle[below(k, k)] += (double)diagonals[row];
        solver.diagonal[h] = solver.triangle[below(k, k)];
    }
    __syncwarp();
    solver.factorize();
    solver.solve_lower();
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        int k = h * 32 + lane;
        Random random(seed, ROWS, mode, row, epoch);
        random.counter[3] = k;
        // Padding stays zero.
        if (k < free) solver.side[h] += random.normal();
    }
    solver.solve_upper();
    if (lane == 0) drawn[0] = 1.0;
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        int k = h * 32 + lane;
        if (k < FREE) drawn[k + 1] = solver.side[h];
    }
    __syncwarp();
    double error = 0.0;
    each_number(own, lane, [&](int place, int k, int l, float number) {
        error += (l < k ? 2.0 : 1.0) * (double)number * drawn[k] * drawn[l];
    });
    for (int k = lane; k < PAD; k += 32) {
        error -= 2.0 * (double)own[TRIANGLE + k] * drawn[k];
        factor[(u64)row * PAD + k] = (float)drawn[k];
    }
    for (int mask = 1; mask < 32; mask *= 2) error += __shfl_xor_sync(WHOLE_WARP, error, mask);
    if (lane == 0) errors[row] = at_least(error + (double)squares[row], 0.0);
}
REGISTER(draw_rows)

KERNEL mean_rows(u32 rows, u32 rank, u32, u32, const float* __restrict__ natural, float* __restrict__ factor, double*) {
    u32 row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    Solver solver;
    solver.lane = threadIdx.x % 32;
    solver.triangle = SHARED(double) + threadIdx.x / 32 * SYSTEM;
    u32 lane = solver.lane, free = rank - 1, len = free * (free + 1) / 2;
    const float* own = natural + (u64)row * (len + free);
    for (u32 i = lane; i < len; i += 32) solver.triangle[i] = own[i];
    for (int k = free; k < FREE; ++k) {
        for (int l = lane; l <= k; l += 32) solver.triangle[below(k, l)] = l == k ? 1.0 : 0.0;
    }
    __syncwarp();
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        int k = h * 32 + lane;
        solver.inverse[h] = 0.0;
        solver.side[h] = k < free ? own[len + k] : 0.0;
        solver.diagonal[h] = k < FREE ? solver.triangle[below(k, k)] : 1.0;
    }
    __syncwarp();
    solver.factorize();
    solver.solve_lower();
    solver.solve_upper();
    if (lane == 0) factor[(u64)row * PAD] = 1.0f;
#pragma unroll
    for (int h = 0; h < HELD; ++h) {
        int k = h * 32 + lane;
        if (k < FREE) factor[(u64)row * PAD + k + 1] = (float)solver.side[h];
    }
}
REGISTER(mean_rows)

#endif
