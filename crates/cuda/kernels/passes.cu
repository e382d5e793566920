// Passes of a core over tuples, see tuples.cu.

// Batches of tuples: a pass of a core, whose designs are in the nodes' tables and make room for what comes of them.
KERNEL pass_tuples(u32 visit, u32 tuples, u32 batch, u32 pad, const float* __restrict__ sums,
                   const float* __restrict__ tuple_squares, const float* __restrict__ roots,
                   const Scalars* __restrict__ scalars, float* __restrict__ designs, double* __restrict__ squares) {
    u32 triangle = pad * (pad + 1) / 2, len = triangle + 2 * pad, first = blockIdx.x * batch;
    u32 some = tuples - first < batch ? tuples - first : batch;
    double* room = SHARED(double);
    float* staged = reinterpret_cast<float*>(room + blockDim.x);
    float* design = staged + batch * len;
    for (u32 i = threadIdx.x; i < some * len; i += blockDim.x) staged[i] = sums[(u64)first * len + i];
    for (u32 i = threadIdx.x; i < some * pad; i += blockDim.x) design[i] = designs[(u64)first * pad + i];
    __syncthreads();
    float scatter = (float)(1.0 / sqrt(scalars->tau));
    double square = 0.0;
    for (u32 i = threadIdx.x; i < some * pad; i += blockDim.x) {
        u32 tuple = i / pad, k = i % pad;
        const float* own = staged + tuple * len;
        const float* along = design + tuple * pad;
        float root = roots[first + tuple], product = 0.0f;
        const float* line = own + k * (k + 1) / 2;
        for (u32 l = 0; l <= k; ++l) product += line[l] * along[l];
        u32 place = k * (k + 1) / 2 + k;
        for (u32 l = k + 1; l < pad; ++l) {
            place += l;
            product += own[place] * along[l];
        }
        float made = root * root * product;
        if (visit == RESIDUALS) {
            float pull = own[triangle + k];
            made = root * root * (pull - product) + root * own[triangle + pad + k] * scatter;
            double share = (double)root * root;
            square += share * (double)along[k] * ((double)product - 2.0 * (double)pull);
            if (k == 0) square += share * (double)tuple_squares[first + tuple];
        }
        if (visit == SQUARES) square += (double)made * (double)along[k];
        if (visit != SQUARES) designs[(u64)first * pad + i] = made;
    }
    if (visit != WEIGHED) {
        square = block_sum(square, room);
        if (threadIdx.x == 0) squares[blockIdx.x] = square;
    }
}
REGISTER(pass_tuples)
