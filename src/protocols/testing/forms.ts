import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Call } from '../../http/call.ts';

export interface SentFile {
  readonly field: string;
  readonly name?: string;
  readonly bytes: Uint8Array;
}

/** What a call has instead of a body when a form was sent; its files are gone when the test is over. */
export async function formOf(
  fields: Readonly<Record<string, string>>,
  files: readonly SentFile[],
): Promise<Partial<Call>> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-form-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const written = files.map(async ({ field, name = 'picture.png', bytes }, index) => {
    const path = join(folder, String(index));
    await writeFile(path, bytes);
    return { field, name, contentType: 'application/octet-stream', path, bytes: bytes.length };
  });
  const form = {
    fields: new Map(Object.entries(fields).map(([name, value]) => [name, [value]])),
    files: await Promise.all(written),
  };
  return { form, body: Buffer.alloc(0) };
}
