/** Flag of sections that are loaded; the others are symbols and debug information. */
const loaded = 2n;

/**
 * An executable of Linux (64 bits, little endian) without symbols and debug information, which only debuggers read. The tools of
 * the system can do this for their own processor only. Other files are returned as they are.
 */
export function stripElf(bytes) {
  if (bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2 || bytes[5] !== 1) return bytes;
  const size = bytes.readUInt16LE(0x3a);
  const start = Number(bytes.readBigUInt64LE(0x28));
  const header = (index) => bytes.subarray(start + index * size, start + (index + 1) * size);
  const sections = Array.from({ length: bytes.readUInt16LE(0x3c) }, (_, index) => header(index));
  const isLoaded = (section) => (section.readBigUInt64LE(0x08) & loaded) !== 0n;
  const loadedCount = sections.findLastIndex(isLoaded) + 1;
  // Sections refer to each other by index, so those in front have to stay.
  if (loadedCount === 0 || !sections.slice(1, loadedCount).every(isLoaded)) return bytes;
  const offset = (section) => Number(section.readBigUInt64LE(0x18));
  const length = (section) => Number(section.readBigUInt64LE(0x20));
  const hasBytes = (section) => section.readUInt32LE(0x04) !== 8;
  const end = Math.max(...sections.slice(0, loadedCount).map((one) => offset(one) + (hasBytes(one) ? length(one) : 0)));
  const names = sections[bytes.readUInt16LE(0x3e)];
  const namesHeader = Buffer.from(names);
  namesHeader.writeBigUInt64LE(BigInt(end), 0x18);
  const table = Math.ceil((end + length(names)) / 8) * 8;
  const head = Buffer.from(bytes.subarray(0, 0x40));
  head.writeBigUInt64LE(BigInt(table), 0x28);
  head.writeUInt16LE(loadedCount + 1, 0x3c);
  head.writeUInt16LE(loadedCount, 0x3e);
  return Buffer.concat([
    head,
    bytes.subarray(0x40, end),
    bytes.subarray(offset(names), offset(names) + length(names)),
    Buffer.alloc(table - end - length(names)),
    ...sections.slice(0, loadedCount),
    namesHeader,
  ]);
}
