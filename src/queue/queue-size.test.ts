import { expect, test } from 'vitest';
import { maxQueuedRequests } from './queue.ts';

test.each([
  [10, 1, false, 10],
  [2, 1, false, 2],
  [3, 1, true, 3],
  [1, 1, false, 10],
  [0, 1, false, 1],
  [0, 1, true, 2],
  [0, 4, false, 10],
  [0, 4, true, 2],
  [-3, 1, false, 1],
  // Running requests count too.
  [10, 4, false, 10],
  [40, 32, false, 40],
  [2, 8, false, 2],
  // An explicit 0 or 1 means 10, also for a larger batch.
  [1, 16, false, 10],
  [0, 16, false, 10],
])(
  'queuePlaces: multiuser %i with %i parallel requests and other models: %s is %i',
  (multiuser, parallelRequests, taskModels, places) => {
    expect(maxQueuedRequests({ multiuser, parallelRequests, hasTaskModels: () => taskModels })).toBe(places);
  },
);
