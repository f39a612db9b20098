// Loaded into the real server before its first line (`node --import`): it is killed in the middle of its third change of a file, either
// when half of the new content is written (`at=content`) or before the new file replaces the old one (`at=rename`).
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

const { searchParams } = new URL(import.meta.url);
const [file, at] = ['file', 'at'].map((name) => searchParams.get(name));
const fatalChange = 3;
const { open, rename, writeFile } = promises;
let changes = 0;
let fatal;

promises.open = async (path, ...rest) => {
  const handle = await open(path, ...rest);
  const name = basename(String(path));
  if (name.startsWith(file) && name.endsWith('.part')) {
    changes += 1;
    if (changes === fatalChange) fatal = handle;
  }
  return handle;
};
promises.writeFile = async (target, data, ...rest) => {
  if (target !== fatal || at !== 'content') return writeFile(target, data, ...rest);
  const content = Buffer.concat(data);
  await writeFile(target, content.subarray(0, content.length / 2));
  return die();
};
promises.rename = (...paths) => (changes === fatalChange && basename(paths[1]) === file ? die() : rename(...paths));
syncBuiltinESMExports();

function die() {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}
