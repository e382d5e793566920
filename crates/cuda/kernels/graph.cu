// Graphs over the rows of a mode: the prior of rows is multiplied with exp(-weight / 2 sum w |u_i - u_j|^2) over the edges, where u
// is what the prior's mean leaves of a row. Each edge stands at both of its ends.

DEVICE double rest_of(const float* factor, const float* means, u32 row, u32 concept, u32 rank, u32 pad) {
    float value = factor[(u64)row * pad + concept];
    return means ? value - means[(u64)row * rank + concept] : value;
}

// A thread for each row and concept: what the row's neighbours add to its pull, and to its precision. The first concept is the same
// for all rows, and is not pulled; its thread sums up the precision.
KERNEL graph_pulls(u32 rows, u32 rank, u32 pad, const u64* __restrict__ starts, const Entry* __restrict__ neighbours,
                   double weight, const float* __restrict__ factor, const float* __restrict__ means,
                   const float* given_pull, const float* given_diagonal, float* pull, float* diagonal) {
    u64 place = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= (u64)rows * rank) return;
    u32 row = (u32)(place / rank), concept = (u32)(place % rank);
    double sum = 0.0, mean = means ? (double)means[place] : 0.0;
    for (u64 i = starts[row]; i < starts[row + 1]; ++i) {
        Entry other = neighbours[i];
        double there = concept == 0 ? 1.0 : rest_of(factor, means, other.id, concept, rank, pad) + mean;
        sum += weight * (double)other.value * there;
    }
    pull[place] = (given_pull ? given_pull[place] : 0.0f) + (concept == 0 ? 0.0f : (float)sum);
    if (concept == 0) diagonal[row] = (given_diagonal ? given_diagonal[row] : 0.0f) + (float)sum;
}
REGISTER(graph_pulls)

// Sums over rows in blocks: the weights of a row's edges times the squared distances of what they connect.
KERNEL graph_distances(u32 rows, u32 rank, u32 pad, const u64* __restrict__ starts, const Entry* __restrict__ neighbours,
                       const float* __restrict__ factor, const float* __restrict__ means, double* __restrict__ parts) {
    double sum = 0.0;
    for (u64 place = (u64)blockIdx.x * blockDim.x + threadIdx.x; place < (u64)rows * rank;
         place += (u64)gridDim.x * blockDim.x) {
        u32 row = (u32)(place / rank), concept = (u32)(place % rank);
        double own = rest_of(factor, means, row, concept, rank, pad);
        for (u64 i = starts[row]; i < starts[row + 1]; ++i) {
            Entry other = neighbours[i];
            double apart = own - rest_of(factor, means, other.id, concept, rank, pad);
            sum += (double)other.value * apart * apart;
        }
    }
    sum = block_sum(sum, SHARED(double));
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
REGISTER(graph_distances)
