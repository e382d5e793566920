// How much entries scatter: `tau`, and the shares of rows.

static const u32 NUS = 22;
// Precisions beyond this are no longer told apart from an exact fit; the data have a spread of 1.
#define MOST_PRECISION 1e5
// A row's entries count as if so many more had to be waited for.
#define DISCOUNT 30.0

DEVICE double nu_of(u32 step) { return 4.0 * pow(1.4142135623730951, (double)step); }

// The entries and the sum of squared errors with which a row takes part in the draw of its share.
DEVICE void counted(u32 count, double errors, double tau, double* entries, double* sum) {
    double part = (double)count / ((double)count + DISCOUNT);
    *entries = (double)count * part;
    *sum = errors * tau * part;
}

// A block for each value of nu: the logarithm of its likelihood, the shares summed out, over rows that tell.
KERNEL weigh_nu(const u32* __restrict__ telling, u32 rows, const u32* __restrict__ counts,
                const double* __restrict__ errors, const Scalars* __restrict__ scalars, double* __restrict__ logs) {
    double nu = nu_of(blockIdx.x), constant = 0.5 * nu * log(0.5 * nu) - lgamma(0.5 * nu), total = 0.0;
    for (u32 i = threadIdx.x; i < rows; i += blockDim.x) {
        u32 row = telling[i];
        double entries, sum;
        counted(counts[row], errors[row], scalars->tau, &entries, &sum);
        double shape = 0.5 * (nu + entries);
        total += constant + lgamma(shape) - shape * log(0.5 * (nu + sum));
    }
    total = block_sum(total, SHARED(double));
    if (threadIdx.x == 0) logs[blockIdx.x] = total;
}
REGISTER(weigh_nu)

KERNEL pick_nu(u32 mode, const double* __restrict__ logs, u64 seed, u32 epoch, Scalars* __restrict__ scalars) {
    if (threadIdx.x > 0) return;
    double most = logs[0], all = 0.0;
    for (u32 i = 1; i < NUS; ++i) most = fmax(most, logs[i]);
    for (u32 i = 0; i < NUS; ++i) all += exp(logs[i] - most);
    Random random(seed, NU, mode, 0, epoch);
    double left = random.uniform() * all;
    u32 picked = NUS - 1;
    for (u32 i = 0; i < NUS; ++i) {
        left -= exp(logs[i] - most);
        if (left <= 0.0) {
            picked = i;
            break;
        }
    }
    scalars->nu[mode] = nu_of(picked);
}
REGISTER(pick_nu)

KERNEL draw_shares(u32 mode, u32 modes, u32 rows, const u32* __restrict__ counts, const double* __restrict__ errors,
                   const Scalars* __restrict__ scalars, u64 seed, u32 epoch, float* __restrict__ roots) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double nu = scalars->nu[mode], tau = scalars->tau, entries, sum;
    counted(counts[row], errors[row], tau, &entries, &sum);
    // All of them and `tau` must not be beyond what can be told apart.
    double most = pow(at_least(MOST_PRECISION / tau, 1.0), 1.0 / (double)modes);
    Random random(seed, SHARES, mode, row, epoch);
    roots[row] = (float)sqrt(at_most(random.gamma(0.5 * (nu + entries), 0.5 * (nu + sum)), most));
}
REGISTER(draw_shares)

static const u32 MOMENTS = 5;

// Sums over rows, each times its entries, of what says how shares follow the offset of their rows.
KERNEL level_parts(u32 rows, u32 pad, const u32* __restrict__ counts, const float* __restrict__ roots,
                   const float* __restrict__ factor, double* __restrict__ parts) {
    double sums[MOMENTS] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (u32 row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
        double count = counts[row], level = factor[(u64)row * pad + OFFSET], share = log((double)roots[row]);
        sums[0] += count;
        sums[1] += count * level;
        sums[2] += count * share;
        sums[3] += count * level * level;
        sums[4] += count * level * share;
    }
    for (u32 i = 0; i < MOMENTS; ++i) {
        double sum = block_sum(sums[i], SHARED(double));
        if (threadIdx.x == 0) parts[blockIdx.x * MOMENTS + i] = sum;
    }
}
REGISTER(level_parts)

// Takes out of shares what follows the offset of their rows.
KERNEL level_shares(u32 rows, u32 pad, u32 blocks, const double* __restrict__ parts, const float* __restrict__ factor,
                    float* __restrict__ roots) {
    double* sums = SHARED(double);
    // A warp has a moment.
    u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double sum = 0.0;
    for (u32 block = lane; warp < MOMENTS && block < blocks; block += 32) sum += parts[block * MOMENTS + warp];
    for (u32 mask = 1; mask < 32; mask *= 2) sum += __shfl_xor_sync(WHOLE_WARP, sum, mask);
    if (warp < MOMENTS && lane == 0) sums[warp] = sum;
    __syncthreads();
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    double entries = sums[0], spread = sums[3] - sums[1] * sums[1] / entries;
    if (row >= rows || !(entries > 0.0 && spread > 1e-9 * entries)) return;
    double slope = (sums[4] - sums[1] * sums[2] / entries) / spread, mean = sums[1] / entries;
    roots[row] *= (float)exp(-slope * ((double)factor[(u64)row * pad + OFFSET] - mean));
}
REGISTER(level_shares)

// The sum of squared errors from its parts, and if `draw`, the precision that it asks for.
KERNEL draw_tau(const double* __restrict__ parts, u32 count, u64 entries, u32 draw, u64 seed, u32 epoch,
                Scalars* __restrict__ scalars) {
    if (threadIdx.x > 0) return;
    double squares = 0.0;
    for (u32 i = 0; i < count; ++i) squares += parts[i];
    // Sums over tuples may be off by a rounding.
    squares = at_least(squares, 0.0);
    scalars->squares = squares;
    if (!draw) return;
    Random random(seed, TAU, 0, 0, epoch);
    scalars->tau = at_most(random.gamma(1.0 + 0.5 * (double)entries, 1.0 + 0.5 * squares), MOST_PRECISION);
}
REGISTER(draw_tau)

// The mean of shares over the draws that count.
KERNEL mean_shares(u32 rows, float share, const float* __restrict__ roots, float* __restrict__ mean) {
    u32 row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) mean[row] += share * (roots[row] * roots[row] - mean[row]);
}
REGISTER(mean_shares)
