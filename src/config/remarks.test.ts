import { expect, test } from 'vitest';
import { defaultSettings, type Settings } from './flags.ts';
import { remarks } from './remarks.ts';

const alone = (names: string) =>
  `--parallelrequests has no effect beside ${names}: every request runs alone. With --batchall they run together.`;

test.each<[Partial<Settings>, string[]]>([
  [{ parallelrequests: 4, smartcache: 2 }, [alone('--smartcache')]],
  [{ parallelrequests: 4, draftmodel: 'small.gguf' }, [alone('--draftmodel')]],
  [{ parallelrequests: 4, smartcache: 2, enableguidance: true }, [alone('--smartcache and --enableguidance')]],
  [{ parallelrequests: 4, draftngram: 3 }, []],
  [{ parallelrequests: 4, smartcache: 2, enableguidance: true, batchall: true }, []],
  [{ smartcache: 2, draftmodel: 'small.gguf' }, []],
  [{ batchall: true }, ['--batchall has no effect without --parallelrequests.']],
  [
    { parallelrequests: 8, multiuser: 4 },
    ['--multiuser takes in 4 requests at once, so --parallelrequests never runs more than those together.'],
  ],
  [{ parallelrequests: 4, multiuser: 4 }, []],
  [{ sdvae: 'soft.gguf' }, ['--sdvae has no effect without --sdmodel.']],
  [
    { sdquant: 2, sdremote: ['x:1'], sdupscaler: '4x.pth' },
    ['--sdupscaler and --sdquant have no effect without --sdmodel.'],
  ],
  [{ sdvae: 'soft.gguf', sdmodel: 'dream.gguf' }, []],
  [{ parallelrequests: 4, multiuser: 1 }, []],
])('%j is told at the start where it undoes itself: %j', (changes, expected) => {
  expect(remarks({ ...defaultSettings, ...changes })).toEqual(expected);
});
