/** The outermost fields of a model, with a graph of so many bytes that nobody reads. */
export function tinyOnnx({ graphBytes = 10 } = {}): Uint8Array {
  const length: number[] = [];
  let rest = graphBytes;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([
    // ir_version 8, producer_name "test", then the graph
    Buffer.from([0x08, 0x08, 0x12, 0x04]),
    Buffer.from('test'),
    Buffer.from([0x3a, ...length, rest]),
    Buffer.alloc(graphBytes, 7),
  ]);
}
