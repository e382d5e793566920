// Passes over the entries of nodes: what the node's design and a row predict of each, and what is made of that.

static const int LEAF_LANES = 8;

// `out` gets for each task the sum over its entries of what is made of each times its row, `squares` that of squared errors.
// `out` may be where `designs` are.
KERNEL BOUNDS(128, 2) leaves(u32, u32 visit, const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
                             const float* designs, const float* __restrict__ node_roots, const float* __restrict__ factor,
                             const float* __restrict__ row_roots, const Scalars* __restrict__ scalars, u64 seed,
                             u32 epoch, float lowest, float highest, float* out, double* __restrict__ squares) {
    // Threads are too many for 32 bits.
    u32 place = blockIdx.x * (blockDim.x / LEAF_LANES) + threadIdx.x / LEAF_LANES, lane = threadIdx.x % LEAF_LANES;
    Task task = {0, 0, NONE, 0};
    if (place < count) task = tasks[place];
    float design[PAD], sums[PAD];
    float base = 0.0f, scatter = (float)(1.0 / sqrt(scalars->tau));
    double square = 0.0;
#pragma unroll
    for (int k = 0; k < PAD; ++k) design[k] = sums[k] = 0.0f;
    if (task.slot != NONE) {
        base = node_roots[task.target];
#pragma unroll
        for (int k = 0; k < PAD / 4; ++k) {
            float4 some = reinterpret_cast<const float4*>(designs)[(u64)task.target * (PAD / 4) + k];
            design[4 * k] = some.x, design[4 * k + 1] = some.y, design[4 * k + 2] = some.z, design[4 * k + 3] = some.w;
        }
    }
    for (u32 entry = task.start + lane; entry < task.end; entry += LEAF_LANES) {
        u32 row = entries[entry].id;
        float value = entries[entry].value;
        const float4* there = reinterpret_cast<const float4*>(factor) + (u64)row * (PAD / 4);
        float prediction = 0.0f;
#pragma unroll
        for (int k = 0; k < PAD / 4; ++k) {
            float4 some = there[k];
            prediction += design[4 * k] * some.x + design[4 * k + 1] * some.y + design[4 * k + 2] * some.z
                + design[4 * k + 3] * some.w;
        }
        float made;
        if (visit == ERRORS) {
            float error = at_most(at_least(prediction, lowest), highest) - value;
            square += (double)error * error;
            continue;
        }
        float root = base * row_roots[row];
        if (visit == RESIDUALS) {
            float error = root * (value - prediction);
            square += (double)error * error;
            made = root * (error + sign_of(seed, epoch, entry) * scatter);
        } else {
            made = root * root * prediction;
        }
#pragma unroll
        for (int k = 0; k < PAD / 4; ++k) {
            float4 some = there[k];
            sums[4 * k] += made * some.x, sums[4 * k + 1] += made * some.y;
            sums[4 * k + 2] += made * some.z, sums[4 * k + 3] += made * some.w;
        }
    }
    for (int mask = 1; mask < LEAF_LANES; mask *= 2) {
        square += __shfl_xor_sync(WHOLE_WARP, square, mask);
    }
    if (visit != ERRORS) {
#pragma unroll
        for (int k = 0; k < PAD; ++k) {
            for (int mask = 1; mask < LEAF_LANES; mask *= 2) sums[k] += __shfl_xor_sync(WHOLE_WARP, sums[k], mask);
        }
        if (task.slot != NONE) {
#pragma unroll
            for (int k = 0; k < PAD; ++k) {
                if (k % LEAF_LANES == lane) out[(u64)task.slot * PAD + k] = sums[k];
            }
        }
    }
    if (task.slot != NONE && lane == 0 && visit != WEIGHED) squares[task.slot] = square;
}
REGISTER(leaves)
