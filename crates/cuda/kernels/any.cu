// The kernels of ranks for which there is no module: slower, and right for any.

// See sums.cu; the sums are kept where they go. `staged` designs at a time are in shared memory.
KERNEL sums_any(u32 pad, u32 staged, const Task* __restrict__ tasks, const Entry* __restrict__ entries,
                const float* __restrict__ designs, float* __restrict__ out, float* __restrict__ squares) {
    Task task = tasks[blockIdx.x];
    float* room = SHARED(float);
    u32 triangle = pad * (pad + 1) / 2, numbers = triangle + pad;
    float* target = out + (u64)task.slot * numbers;
    for (u32 i = threadIdx.x; i < numbers; i += blockDim.x) target[i] = 0.0f;
    float square = 0.0f;
    // A value is one more number of its design.
    u32 width = pad + 1;
    for (u32 first = task.start; first < task.end; first += staged) {
        u32 some = task.end - first < staged ? task.end - first : staged;
        __syncthreads();
        for (u32 i = threadIdx.x; i < some * width; i += blockDim.x) {
            Entry entry = entries[first + i / width];
            // The root is where the value goes.
            float number = designs[(u64)entry.id * (pad + 8) + i % width];
            room[i] = i % width < pad ? number : number * entry.value;
        }
        __syncthreads();
        for (u32 k = 0; k < width; ++k) {
            u32 end = k < pad ? k + 1 : pad;
            for (u32 l = threadIdx.x; l < end; l += blockDim.x) {
                float sum = target[k * (k + 1) / 2 + l];
                for (u32 i = 0; i < some; ++i) sum += room[i * width + k] * room[i * width + l];
                target[k * (k + 1) / 2 + l] = sum;
            }
        }
        if (threadIdx.x == 0) {
            for (u32 i = 0; i < some; ++i) square += room[i * width + pad] * room[i * width + pad];
        }
    }
    if (threadIdx.x == 0) squares[task.slot] = square;
}
REGISTER(sums_any)

// The product of a design and a row, whose numbers the threads of a block share.
DEVICE float product_of(u32 pad, const float* design, const float* row, double* room) {
    double part = 0.0;
    for (u32 k = threadIdx.x; k < pad; k += blockDim.x) part += (double)design[k] * row[k];
    return (float)block_sum(part, room);
}

// See leaves.cu; a block for each task.
KERNEL leaves_any(u32 pad, u32 visit, const Task* __restrict__ tasks, u32, const Entry* __restrict__ entries,
                  const float* designs, const float* __restrict__ node_roots, const float* __restrict__ factor,
                  const Scalars* __restrict__ scalars, u64 seed, u32 epoch, float* out, double* __restrict__ squares) {
    Task task = tasks[blockIdx.x];
    double* room = SHARED(double);
    float* sums = reinterpret_cast<float*>(room + blockDim.x);
    float* design = sums + pad;
    for (u32 k = threadIdx.x; k < pad; k += blockDim.x) {
        sums[k] = 0.0f;
        design[k] = designs[(u64)task.target * pad + k];
    }
    __syncthreads();
    float base = node_roots[task.target], scatter = (float)(1.0 / sqrt(scalars->tau));
    double square = 0.0;
    for (u32 entry = task.start; entry < task.end; ++entry) {
        const float* row = factor + (u64)entries[entry].id * (pad + 8);
        float prediction = product_of(pad, design, row, room), made = base * base * prediction;
        if (visit == RESIDUALS) {
            float error = base * (row[pad] * entries[entry].value - prediction);
            square += (double)error * error;
            made = base * (error + sign_of(seed, epoch, entry) * scatter);
        }
        if (visit == SQUARES) square += (double)(base * prediction) * (base * prediction);
        for (u32 k = threadIdx.x; k < pad; k += blockDim.x) sums[k] += made * row[k];
    }
    for (u32 k = threadIdx.x; k < pad && visit != SQUARES; k += blockDim.x) out[(u64)task.slot * pad + k] = sums[k];
    if (threadIdx.x == 0 && visit != WEIGHED) squares[task.slot] = square;
}
REGISTER(leaves_any)

// See leaves.cu; a block for each task.
KERNEL errors_any(u32 pad, const Task* __restrict__ tasks, u32, const Entry* __restrict__ entries,
                  const float* __restrict__ designs, const float* __restrict__ factor, float lowest, float highest,
                  double* __restrict__ squares) {
    Task task = tasks[blockIdx.x];
    double* room = SHARED(double);
    double square = 0.0;
    for (u32 entry = task.start; entry < task.end; ++entry) {
        Entry now = entries[entry];
        float prediction = product_of(pad, designs + (u64)task.target * pad, factor + (u64)now.id * pad, room);
        float error = at_most(at_least(prediction, lowest), highest) - now.value;
        square += (double)error * error;
    }
    if (threadIdx.x == 0) squares[task.slot] = square;
}
REGISTER(errors_any)
