import { expect, test } from 'vitest';
import { loadReason } from './load-reason.ts';

test.each([
  [
    [
      "llama_model_load: error loading model: unknown model architecture: 'abc'",
      'llama_model_load_from_file_impl: failed to load model',
    ],
    "unknown model architecture: 'abc'",
  ],
  [
    [
      'CUDA error: the driver is too old',
      '  current device: 0, in function f at g.cu:1',
      'ggml-cuda.cu:108: CUDA error',
    ],
    'the driver is too old',
  ],
  [['ggml_vulkan: unable to allocate 900 MB', 'something failed later'], 'unable to allocate 900 MB'],
  [['load: printing all EOG tokens', 'common: invalid magic'], 'invalid magic'],
  [['all is well', 'still loading'], 'the engine process died of SIGKILL'],
  [[], 'the engine process died of SIGKILL'],
])('of %j the reason is the most telling line', (lines, expected) => {
  expect(loadReason(lines, 'the engine process died of SIGKILL')).toBe(expected);
});
