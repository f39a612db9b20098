export interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/**
 * The size that a PNG, JPEG, GIF or BMP file claims for its picture, before anything is unpacked: a small file may claim a
 * picture that fills the memory. Undefined for any other kind of file.
 */
export function pictureSize(file: Buffer): PictureSize | undefined {
  return readers.find(({ begins }) => file.subarray(0, begins.length).equals(begins))?.read(file);
}

type Reader = (file: Buffer) => PictureSize | undefined;

const within =
  (bytes: number, read: (file: Buffer) => PictureSize): Reader =>
  (file) =>
    file.length >= bytes ? read(file) : undefined;

const gif = within(10, (file) => ({ width: file.readUInt16LE(6), height: file.readUInt16LE(8) }));

const readers: readonly { readonly begins: Buffer; readonly read: Reader }[] = [
  {
    begins: Buffer.from('89504e470d0a1a0a', 'hex'),
    read: within(24, (file) => ({ width: file.readUInt32BE(16), height: file.readUInt32BE(20) })),
  },
  { begins: Buffer.from('GIF87a'), read: gif },
  { begins: Buffer.from('GIF89a'), read: gif },
  {
    begins: Buffer.from('BM'),
    // A negative height says that the rows come from top to bottom.
    read: within(26, (file) => ({ width: file.readInt32LE(18), height: Math.abs(file.readInt32LE(22)) })),
  },
  { begins: Buffer.from('ffd8ff', 'hex'), read: jpegSize },
];

/** Walks over the segments to the one that begins the frame. */
function jpegSize(file: Buffer): PictureSize | undefined {
  let at = 2;
  while (at + 9 <= file.length && file[at] === 0xff) {
    const marker = file[at + 1] as number;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
    // Any number of these may fill the space between segments.
    at += marker === 0xff ? 1 : 2 + file.readUInt16BE(at + 2);
  }
  return undefined;
}
