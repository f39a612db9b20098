import { gzipSync } from 'node:zlib';

/** A gzipped tar archive as npm packs them. */
export function packed(files: Readonly<Record<string, Buffer>>): Buffer {
  const blocks = Object.entries(files).flatMap(([name, content]) => {
    const head = Buffer.alloc(512);
    head.write(name.slice(0, 100), 0);
    head.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    head.write('0', 156);
    head.write('ustar', 257);
    return [head, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}
