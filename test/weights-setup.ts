import { makeWeights } from '../scripts/conversion/weights.ts';

/** Tests of engines load the real weights, also in a clone that has not been built. */
export default (): Promise<void> => makeWeights();
