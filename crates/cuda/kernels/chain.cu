// A chain folds the core along the rows of one mode after the other. Each level has a node for every combination of rows that
// occurs in its modes and those before; a node's table is what is left of the core along its rows. On the way back, what
// nodes have is multiplied with their rows and added up in their parents.

// The modes that a level folds at once.
struct Folding {
    u32 modes;
    // The product of their ranks.
    u32 concepts;
    u32 ranks[MOST_MODES];
    u32 pads[MOST_MODES];
    const float* factors[MOST_MODES];
    const float* roots[MOST_MODES];
};

// What a node's rows make of the `k`th combination of concepts.
DEVICE float weight_of(const Folding& folding, const u32* rows, u32 k) {
    float weight = 1.0f;
    for (u32 mode = folding.modes; mode-- > 0; k /= folding.ranks[mode]) {
        weight *= folding.factors[mode][(u64)rows[mode] * folding.pads[mode] + k % folding.ranks[mode]];
    }
    return weight;
}

// Nodes' tables, `len` numbers each, and the roots of their rows' shares. If `wide`, tables are as sums read them: multiplied with
// the root, with the root behind them and so many more float4s long.
KERNEL fold(u32 wide, const Folding* __restrict__ foldings, const u32* __restrict__ rows,
            const u32* __restrict__ parents, u32 nodes, u32 len, const float* __restrict__ above, const float* __restrict__ roots_above,
            float* __restrict__ tables, float* __restrict__ roots) {
    u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 quads = len / 4;
    u32 node = (u32)(thread / quads), quad = (u32)(thread % quads);
    if (node >= nodes) return;
    const Folding& folding = *foldings;
    u32 modes = folding.modes, concepts = folding.concepts, parent = parents[node];
    const u32* own = rows + (u64)node * modes;
    const float4* table = reinterpret_cast<const float4*>(above) + (u64)parent * concepts * quads + quad;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float* row = folding.factors[0] + (u64)own[0] * folding.pads[0];
    for (u32 k = 0; k < concepts; ++k) {
        float weight = modes == 1 ? row[k] : weight_of(folding, own, k);
        float4 some = table[(u64)k * quads];
        sum.x += weight * some.x, sum.y += weight * some.y, sum.z += weight * some.z, sum.w += weight * some.w;
    }
    float root = roots_above[parent];
    for (u32 mode = 0; mode < modes && (wide || quad == 0); ++mode) root *= folding.roots[mode][own[mode]];
    float4* out = reinterpret_cast<float4*>(tables) + (u64)node * (quads + wide) + quad;
    if (wide) {
        sum.x *= root, sum.y *= root, sum.z *= root, sum.w *= root;
        if (quad == 0) out[quads] = make_float4(root, 0.0f, 0.0f, 0.0f);
    }
    *out = sum;
    if (quad == 0) roots[node] = root;
}
REGISTER(fold)

// Rows as sums read them, see above.
KERNEL widen(u32 rows, u32 pad, u32 stride, const float* __restrict__ factor, const float* __restrict__ roots, float* __restrict__ wide) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 row = (u32)(i / stride), k = (u32)(i % stride);
    if (row >= rows) return;
    float root = roots[row];
    wide[i] = k < pad ? root * factor[(u64)row * pad + k] : k == pad ? root : 0.0f;
}
REGISTER(widen)

// So many children at a time have their weights in shared memory.
static const u32 UNFOLDED = 32;

// For each task, the sum over some children of a node of their weights times what they have. Threads have a float4 of sums each;
// if that leaves some, several take turns in the children. Only the weights of a block's own concepts are in shared memory, so
// that it is enough for any number of concepts.
KERNEL unfold(const Folding* __restrict__ foldings, const u32* __restrict__ rows, const Task* __restrict__ tasks, u32 len,
              const float* __restrict__ below, float* __restrict__ out) {
    const Folding& folding = *foldings;
    Task task = tasks[blockIdx.x];
    u32 concepts = folding.concepts, quads = len / 4, cells = concepts * quads;
    u32 turns = blockDim.x / cells > 0 ? blockDim.x / cells : 1;
    u32 cell = blockIdx.y * blockDim.x + threadIdx.x, turn = 0;
    if (turns > 1) turn = threadIdx.x / cells, cell = threadIdx.x % cells;
    bool busy = cell < cells && turn < turns;
    u32 k = cell / quads, quad = cell % quads, first_concept = 0, end = concepts;
    if (turns == 1) {
        u32 first_cell = blockIdx.y * blockDim.x, rest = cells - first_cell;
        first_concept = first_cell / quads;
        end = (first_cell + (rest < blockDim.x ? rest : blockDim.x) - 1) / quads + 1;
    }
    u32 own = end - first_concept;
    float* weights = SHARED(float);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (u32 first = task.start; first < task.end; first += UNFOLDED) {
        u32 some = task.end - first < UNFOLDED ? task.end - first : UNFOLDED;
        __syncthreads();
        for (u32 i = threadIdx.x; i < some * own; i += blockDim.x) {
            u32 child = first + i / own;
            weights[i] = weight_of(folding, rows + (u64)child * folding.modes, first_concept + i % own);
        }
        __syncthreads();
        for (u32 i = turn; busy && i < some; i += turns) {
            float4 there = reinterpret_cast<const float4*>(below)[(u64)(first + i) * quads + quad];
            float weight = weights[i * own + k - first_concept];
            sum.x += weight * there.x, sum.y += weight * there.y, sum.z += weight * there.z, sum.w += weight * there.w;
        }
    }
    if (turns > 1) {
        // Weights are no longer needed; there is room for a float4 of each thread.
        __syncthreads();
        float4* room = SHARED(float4);
        room[threadIdx.x] = sum;
        __syncthreads();
        for (u32 other = 1; busy && turn == 0 && other < turns; ++other) {
            float4 there = room[other * cells + cell];
            sum.x += there.x, sum.y += there.y, sum.z += there.z, sum.w += there.w;
        }
    }
    if (busy && turn == 0) reinterpret_cast<float4*>(out)[(u64)task.slot * cells + cell] = sum;
}
REGISTER(unfold)

// The slots of targets that several tasks share.
KERNEL join(const Split* __restrict__ splits, u32 len, float* __restrict__ slots) {
    Split split = splits[blockIdx.x];
    for (u32 i = blockIdx.y * blockDim.x + threadIdx.x; i < len; i += gridDim.y * blockDim.x) {
        double sum = 0.0;
        for (u32 part = 0; part < split.count; ++part) sum += slots[(u64)(split.first + part) * len + i];
        slots[(u64)split.target * len + i] = (float)sum;
    }
}
REGISTER(join)

// Numbers in another order; places that come from nowhere are zero.
KERNEL gather(const u32* __restrict__ places, u32 count, const float* __restrict__ from, float* __restrict__ to) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = places[i] == NONE ? 0.0f : from[places[i]];
}
REGISTER(gather)

// Zeros where other passes have left something.
KERNEL clear(u64 count, double* __restrict__ values) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] = 0.0;
}
REGISTER(clear)

// The sums of parts of a list, and of those.
KERNEL add_parts(const double* __restrict__ values, u64 count, double* __restrict__ parts) {
    double sum = 0.0;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) sum += values[i];
    sum = block_sum(sum, SHARED(double));
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
REGISTER(add_parts)
