import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** The path of an instance channel for this test alone. */
export function ownChannel(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-channel-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return process.platform === 'win32' ? `\\\\.\\pipe\\${folder.replace(/\W/g, '')}` : join(folder, 'x', '5001.sock');
}
