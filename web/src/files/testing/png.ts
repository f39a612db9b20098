/** A PNG file of these chunks: signature, chunks, end. */
export function pngOf(...chunks: readonly (readonly [kind: string, data: Uint8Array])[]): Uint8Array {
  const parts = [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)];
  for (const [kind, data] of [...chunks, ['IEND', new Uint8Array()] as const]) {
    const chunk = new Uint8Array(12 + data.length);
    new DataView(chunk.buffer).setUint32(0, data.length);
    chunk.set(new TextEncoder().encode(kind), 4);
    chunk.set(data, 8);
    parts.push(chunk);
  }
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

export function textChunk(keyword: string, text: string): ['tEXt', Uint8Array] {
  return ['tEXt', new TextEncoder().encode(`${keyword}\0${text}`)];
}

/** A card as base64 JSON. */
export function packed(card: unknown): string {
  return base64(JSON.stringify(card));
}

export function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
