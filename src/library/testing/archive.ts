import { gzipSync } from 'node:zlib';

/** The header of a file in a tar archive. */
export function tarHead(name: string, bytes: number, type = '0'): Buffer {
  const head = Buffer.alloc(512);
  head.write(name.slice(0, 100), 0);
  head.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  head.write('        ', 148);
  head.write(type, 156);
  head.write('ustar', 257);
  const sum = head.reduce((total, byte) => total + byte, 0);
  head.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return head;
}

export function tarFile(name: string, content: Buffer, type = '0'): Buffer {
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return Buffer.concat([tarHead(name, content.length, type), content, padding]);
}

/** A gzipped tar archive as npm packs them. */
export function packed(files: Readonly<Record<string, Buffer>>): Buffer {
  const blocks = Object.entries(files).map(([name, content]) => tarFile(name, content));
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}
