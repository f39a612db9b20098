import { open } from 'node:fs/promises';

/** What the head of a Whisper file (`ggml-*.bin`) says of it. */
export interface WhisperHeader {
  /** It knows all languages and can translate; others hear English only. */
  readonly multilingual: boolean;
}

/** Only these numbers of tokens exist: the smallest is that of the models for English. */
const vocabularies: ReadonlyMap<number, WhisperHeader> = new Map([
  [51_864, { multilingual: false }],
  [51_865, { multilingual: true }],
  [51_866, { multilingual: true }],
]);

const magic = 0x67676d6c;

/** Rejects with one sentence for what is no such file, before native code has to find that out. */
export async function readWhisperHeader(path: string): Promise<WhisperHeader> {
  const file = await open(path);
  try {
    const head = Buffer.alloc(48);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    if (bytesRead < head.length || head.readUInt32LE(0) !== magic) {
      throw new Error('it is no Whisper model of whisper.cpp (a file like ggml-base.bin)');
    }
    const header = vocabularies.get(head.readInt32LE(4));
    if (!header) throw new Error(`it is no Whisper model that is known here (${head.readInt32LE(4)} tokens)`);
    return header;
  } finally {
    await file.close();
  }
}
