import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';

// Compresses the files that a list names, one after the other. Run by the Node of the release: older ones have no Zstandard.
const [, , folder, list, target] = process.argv;
const { files } = JSON.parse(readFileSync(list, 'utf8'));
async function* bytes() {
  for (const { path } of files) yield* createReadStream(join(folder, path));
}
// Takes minutes; unpacking takes as long as with any other level, and the memory of one window.
const params = { [constants.ZSTD_c_compressionLevel]: 19, [constants.ZSTD_c_windowLog]: 25 };
await pipeline(Readable.from(bytes()), createZstdCompress({ params }), createWriteStream(target));
