import { expect, test } from 'vitest';
import { openRecogniser } from './open.ts';

test('a Whisper model says which pack it needs', async () => {
  const options = { type: 'whisper', model: '/models/base.bin', name: 'base', threads: 1 } as const;
  await expect(openRecogniser(options)).rejects.toThrow(/--whispermodel needs `parley pack add whisper`/);
});
