import { checksum } from '../formats/zip.ts';

type Content = string | Uint8Array;

/** A zip archive; `stored` leaves the files uncompressed, `claim` states another size. */
export async function zipOf(
  files: Readonly<Record<string, Content>>,
  { stored = false, claim }: { readonly stored?: boolean; readonly claim?: number } = {},
): Promise<Uint8Array> {
  const locals: number[] = [];
  const directory: number[] = [];
  for (const [path, content] of Object.entries(files)) {
    const name = new TextEncoder().encode(path);
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    const packed = stored ? bytes : await deflated(bytes);
    const common = [
      ...[...two(20), ...two(0x800), ...two(stored ? 0 : 8), ...four(0)],
      ...[...four(checksum(bytes)), ...four(packed.length), ...four(claim ?? bytes.length)],
      ...[...two(name.length), ...two(0)],
    ];
    directory.push(0x50, 0x4b, 1, 2, ...two(20), ...common, ...Array(10).fill(0), ...four(locals.length), ...name);
    locals.push(0x50, 0x4b, 3, 4, ...common, ...name, ...packed);
  }
  const count = two(Object.keys(files).length);
  const end = [0x50, 0x4b, 5, 6, ...four(0), ...count, ...count, ...four(directory.length), ...four(locals.length)];
  return Uint8Array.from([...locals, ...directory, ...end, ...two(0)]);
}

async function deflated(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes.slice()]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function two(value: number): number[] {
  return [value & 255, (value >> 8) & 255];
}

function four(value: number): number[] {
  return [...two(value), ...two(value >>> 16)];
}
