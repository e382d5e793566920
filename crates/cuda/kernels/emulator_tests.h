// Kernels of tests alone, of what others have in registers.

// A block of random numbers of this counter and key.
KERNEL random_block(const u32* counter, const u32* key, u32* block) {
    Random random(0, 0, 0, 0, 0);
    for (int i = 0; i < 4; ++i) random.counter[i] = counter[i];
    for (int i = 0; i < 2; ++i) random.key[i] = key[i];
    random.next_block();
    for (int i = 0; i < 4; ++i) block[i] = random.block[i];
}
REGISTER(random_block)

// A number of the gamma distribution for each thread, and one of the normal distribution.
KERNEL random_numbers(u64 seed, const double* shape_and_rate, double* gammas, double* normals) {
    Random random(seed, PRIOR, 0, threadIdx.x + blockIdx.x * blockDim.x, 1);
    gammas[threadIdx.x + blockIdx.x * blockDim.x] = random.gamma(shape_and_rate[0], shape_and_rate[1]);
    normals[threadIdx.x + blockIdx.x * blockDim.x] = random.normal();
}
REGISTER(random_numbers)
