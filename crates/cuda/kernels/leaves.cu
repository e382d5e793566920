// The last level of a chain, and passes over the entries of its nodes: what the node's design and a row predict of each, and what
// is made of that.

// The tables of the last level of a chain, which are designs, if it is of one mode: see `fold` in chain.cu. A thread has a node;
// those beside each other mostly have the same parent, whose table they read together.
KERNEL fold_last(u32, u32 wide, const Folding* __restrict__ foldings, const u32* __restrict__ rows,
                 const u32* __restrict__ parents, u32 nodes, const float* __restrict__ above, const float* __restrict__ roots_above,
                 float* __restrict__ tables, float* __restrict__ roots) {
    const Folding& folding = *foldings;
    u32 concepts = folding.concepts, lane = threadIdx.x % 32, first = blockIdx.x * blockDim.x + threadIdx.x - lane;
    u32 node = first + lane < nodes ? first + lane : nodes - 1, parent = parents[node], id = rows[node];
    const float4* row = reinterpret_cast<const float4*>(folding.factors[0] + (u64)id * folding.pads[0]);
    const float4* table = reinterpret_cast<const float4*>(above) + (u64)parent * concepts * (PAD / 4);
    float4 sums[PAD / 4];
#pragma unroll
    for (int q = 0; q < PAD / 4; ++q) sums[q] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (u32 k = 0; k < concepts; k += 4) {
        float4 weights = row[k / 4];
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            float weight = i == 0 ? weights.x : i == 1 ? weights.y : i == 2 ? weights.z : weights.w;
            if (k + i < concepts) {
#pragma unroll
                for (int q = 0; q < PAD / 4; ++q) {
                    float4 there = table[(k + i) * (PAD / 4) + q];
                    sums[q].x += weight * there.x, sums[q].y += weight * there.y;
                    sums[q].z += weight * there.z, sums[q].w += weight * there.w;
                }
            }
        }
    }
    float root = roots_above[parent] * folding.roots[0][id], times = wide ? root : 1.0f;
    if (first + lane < nodes) roots[node] = root;
    // Through shared memory, so that neighbours write what lies beside each other.
    float4* room = SHARED(float4) + (threadIdx.x - lane) * (QUADS + 1);
    float4* own = room + lane * (QUADS + 1);
#pragma unroll
    for (int q = 0; q < PAD / 4; ++q) {
        own[q] = make_float4(times * sums[q].x, times * sums[q].y, times * sums[q].z, times * sums[q].w);
    }
#pragma unroll
    for (int q = PAD / 4; q < QUADS; ++q) own[q] = make_float4(q == PAD / 4 ? root : 0.0f, 0.0f, 0.0f, 0.0f);
    __syncwarp();
    u32 quads = wide ? QUADS : PAD / 4, here = first < nodes ? (nodes - first < 32 ? nodes - first : 32) : 0;
    float4* out = reinterpret_cast<float4*>(tables) + (u64)first * quads;
    for (u32 i = lane; i < here * quads; i += 32) out[i] = room[i / quads * (QUADS + 1) + i % quads];
}
REGISTER(fold_last)

// Lanes that share a task: each has a float4 of the design, of every row and of what comes out, so that rows are read as they lie
// in memory. Of some entries at a time.
static const int LEAF_LANES = PAD <= 4 ? 1 : PAD <= 8 ? 2 : PAD <= 16 ? 4 : PAD <= 32 ? 8 : 16;
static const int LEAF_ENTRIES = 4;

// The task of a thread, and which of its lanes that is.
struct Leaf {
    Task task = {0, 0, NONE, 0};
    u32 lane = threadIdx.x % LEAF_LANES;
    // Entries of the longest task of the warp, as far as all lanes go.
    u32 most;
    // Whether the lane has a part of the design at all, and which.
    bool wide = lane < PAD / 4;
    float4 design = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

    DEVICE Leaf(const Task* tasks, u32 count, const float* designs) {
        // Threads are too many for 32 bits.
        u32 place = blockIdx.x * (blockDim.x / LEAF_LANES) + threadIdx.x / LEAF_LANES;
        if (place < count) task = tasks[place];
        most = task.end - task.start;
        for (int mask = LEAF_LANES; mask < 32; mask *= 2) {
            u32 other = __shfl_xor_sync(WHOLE_WARP, most, mask);
            if (other > most) most = other;
        }
        if (task.slot != NONE && wide) design = reinterpret_cast<const float4*>(designs)[(u64)task.target * (PAD / 4) + lane];
    }

    // The products of the design and some rows, of which each lane has its part.
    DEVICE void products(const float4 (&rows)[LEAF_ENTRIES], float (&products)[LEAF_ENTRIES]) const {
#pragma unroll
        for (int i = 0; i < LEAF_ENTRIES; ++i) {
            products[i] = design.x * rows[i].x + design.y * rows[i].y + design.z * rows[i].z + design.w * rows[i].w;
        }
#pragma unroll
        for (int mask = 1; mask < LEAF_LANES; mask *= 2) {
#pragma unroll
            for (int i = 0; i < LEAF_ENTRIES; ++i) products[i] += __shfl_xor_sync(WHOLE_WARP, products[i], mask);
        }
    }
};

// `out` gets for each task the sum over its entries of what is made of each times its row, `squares` that of squared errors, or of
// squared predictions.
// `out` may be where `designs` are. `factor` has rows as sums read them, see sums.cu: times the root of their share, which stands
// behind them.
KERNEL leaves(u32, u32 visit, const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
              const float* designs, const float* __restrict__ node_roots, const float* __restrict__ factor,
              const Scalars* __restrict__ scalars, u64 seed, u32 epoch, float* out, double* __restrict__ squares) {
    Leaf leaf(tasks, count, designs);
    Task task = leaf.task;
    float base = task.slot != NONE ? node_roots[task.target] : 0.0f, scatter = (float)(1.0 / sqrt(scalars->tau));
    double square = 0.0;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (u32 done = 0; done < leaf.most; done += LEAF_ENTRIES) {
        u32 first = task.start + done;
        Entry some[LEAF_ENTRIES];
        float4 rows[LEAF_ENTRIES];
        float roots[LEAF_ENTRIES], products[LEAF_ENTRIES];
        // What is not there adds nothing.
#pragma unroll
        for (int i = 0; i < LEAF_ENTRIES; ++i) some[i] = first + i < task.end ? entries[first + i] : Entry{NONE, 0.0f};
#pragma unroll
        for (int i = 0; i < LEAF_ENTRIES; ++i) {
            const float* row = factor + (u64)some[i].id * STRIDE;
            rows[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            roots[i] = 0.0f;
            if (some[i].id != NONE && leaf.wide) rows[i] = reinterpret_cast<const float4*>(row)[leaf.lane];
            if (some[i].id != NONE && visit == RESIDUALS) roots[i] = row[PAD];
        }
        leaf.products(rows, products);
#pragma unroll
        for (int i = 0; i < LEAF_ENTRIES; ++i) {
            float made = base * base * products[i];
            if (visit == RESIDUALS) {
                float error = base * (roots[i] * some[i].value - products[i]);
                square += (double)error * error;
                made = base * (error + sign_of(seed, epoch, first + i) * scatter);
            }
            if (visit == SQUARES) square += (double)(base * products[i]) * (base * products[i]);
            sum.x += made * rows[i].x, sum.y += made * rows[i].y, sum.z += made * rows[i].z, sum.w += made * rows[i].w;
        }
    }
    if (task.slot == NONE) return;
    if (leaf.wide && visit != SQUARES) reinterpret_cast<float4*>(out)[(u64)task.slot * (PAD / 4) + leaf.lane] = sum;
    if (leaf.lane == 0 && visit != WEIGHED) squares[task.slot] = square;
}
REGISTER(leaves)

// `squares` gets for each task the sum over its entries of the squared errors of predictions cut off at a range.
KERNEL errors(u32, const Task* __restrict__ tasks, u32 count, const Entry* __restrict__ entries,
              const float* __restrict__ designs, const float* __restrict__ factor, float lowest, float highest,
              double* __restrict__ squares) {
    Leaf leaf(tasks, count, designs);
    Task task = leaf.task;
    double square = 0.0;
    for (u32 done = 0; done < leaf.most; done += LEAF_ENTRIES) {
        u32 first = task.start + done;
        float4 rows[LEAF_ENTRIES];
        float products[LEAF_ENTRIES], values[LEAF_ENTRIES];
#pragma unroll
        for (int i = 0; i < LEAF_ENTRIES; ++i) {
            Entry entry = first + i < task.end ? entries[first + i] : Entry{NONE, 0.0f};
            values[i] = entry.value;
            rows[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (entry.id != NONE && leaf.wide) {
                rows[i] = reinterpret_cast<const float4*>(factor)[(u64)entry.id * (PAD / 4) + leaf.lane];
            }
        }
        leaf.products(rows, products);
#pragma unroll
        for (int i = 0; i < LEAF_ENTRIES; ++i) {
            float error = at_most(at_least(products[i], lowest), highest) - values[i];
            if (first + i < task.end) square += (double)error * error;
        }
    }
    if (task.slot != NONE && leaf.lane == 0) squares[task.slot] = square;
}
REGISTER(errors)
