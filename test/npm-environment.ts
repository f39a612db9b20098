const certificates = process.env.PARLEY_TEST_CERTIFICATES;

/** For npm, which asks its registry with the certificates of this machine. */
export const npmEnvironment = { ...process.env, ...(certificates && { NODE_EXTRA_CA_CERTS: certificates }) };
