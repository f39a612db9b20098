import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeGguf } from './gguf-file.ts';

test('writeGguf: rejects data that does not fit its shape', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gguf-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const tensors = [{ name: 'a', shape: [4], type: 'F32' as const, data: new Float32Array(3) }];
  const written = writeGguf(join(folder, 'model.gguf'), { metadata: {}, tensors });
  await expect(written).rejects.toThrow('a needs 16 bytes and got 12');
});
