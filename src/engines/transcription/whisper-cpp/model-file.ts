import { open } from 'node:fs/promises';

/** Vocabulary sizes of the models. Multilingual ones can also translate; the others are English only. */
const vocabularies = { english: 51_864, multilingual: [51_865, 51_866] };

const magic = 0x67676d6c;

/** Reads the header of a model (`ggml-*.bin`). Rejects other files, before native code reads them. */
export async function readWhisperHeader(path: string): Promise<{ readonly multilingual: boolean }> {
  const file = await open(path);
  try {
    const head = Buffer.alloc(48);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    if (bytesRead < head.length || head.readUInt32LE(0) !== magic) {
      throw new Error('it is no Whisper model of whisper.cpp (a file like ggml-base.bin)');
    }
    const tokens = head.readInt32LE(4);
    const multilingual = vocabularies.multilingual.includes(tokens);
    if (multilingual || tokens === vocabularies.english) return { multilingual };
    throw new Error(`it is no Whisper model that is known here (${tokens} tokens)`);
  } finally {
    await file.close();
  }
}
