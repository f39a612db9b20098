import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Voice } from '../../../core/speech.ts';
import { findEspeakData, type Machine } from './espeak-data.ts';
import { kokoroVoices, numberedVoices } from './known-voices.ts';
import { readOnnxMetadata } from './onnx-metadata.ts';
import { piperVoices, readPiperVoice } from './piper.ts';

/** A voice model as the library is to load it: which kind, and where its parts are. */
export interface VoiceModel {
  readonly kind: 'piper' | 'vits' | 'kokoro' | 'kitten' | 'matcha';
  readonly name: string;
  readonly model: string;
  readonly voices: readonly Voice[];
  /** Of all of its files. */
  readonly bytes: number;
  readonly tokens?: string;
  readonly dataFolder?: string;
  /** The table of voices of Kokoro and Kitten. */
  readonly voiceTable?: string;
  readonly lexicon?: string;
  /** The second model of Matcha, which makes sound of what the first one draws. */
  readonly vocoder?: string;
}

export interface VoiceModelFiles {
  /** A file or a folder. */
  readonly path: string;
  /** A second file, where somebody named one. */
  readonly second: string;
  readonly machine: Machine;
}

/** What is possible, for whoever brings something else. */
export const possibleVoices =
  'a Piper voice (NAME.onnx with NAME.onnx.json), or the folder of a VITS, Kokoro, Kitten or Matcha model for sherpa-onnx';

/** Finds out what a voice model is by the files that lie there; its weights are not read. Throws one clear sentence. */
export async function readVoiceModel({ path, second, machine }: VoiceModelFiles): Promise<VoiceModel> {
  const facts = await stat(path);
  if (/\.(gguf|ggml|bin|safetensors|pth?)$/i.test(path) && facts.isFile()) {
    throw new Error(
      `speech models in this format (OuteTTS and the like) are not possible yet. What is: ${possibleVoices}`,
    );
  }
  const folder = facts.isDirectory() ? path : dirname(path);
  const names = await readdir(folder);
  const model = facts.isDirectory() ? modelIn(names, folder) : path;
  if (model === undefined || !/\.onnx$/i.test(model))
    throw new Error(`it is no voice that is known: what is possible is ${possibleVoices}`);
  const metadata = await readOnnxMetadata(model);
  const name = facts.isDirectory() ? basename(path) : basename(path).replace(/\.onnx$/i, '');
  const has = (file: string): string | undefined => (names.includes(file) ? join(folder, file) : undefined);
  const espeak = () => findEspeakData(facts.isDirectory() ? path : model, machine);
  const base = { name, model, bytes: (await stat(model)).size };

  const config = `${model}.json`;
  const beside = names.includes(basename(config));
  const tokens = has('tokens.txt');
  const voiceTable = has('voices.bin');
  if (voiceTable !== undefined && tokens !== undefined) {
    const kitten = /kitten/i.test(metadata.get('model_type') ?? folder);
    const tableBytes = (await stat(voiceTable)).size;
    const voices = kokoroVoices(metadata, tableBytes, name);
    const kind = kitten ? 'kitten' : 'kokoro';
    const lexicon = lexiconsIn(names, folder);
    return {
      ...base,
      kind,
      bytes: base.bytes + tableBytes,
      voices,
      tokens,
      voiceTable,
      dataFolder: await espeak(),
      ...(lexicon === '' || kitten ? {} : { lexicon }),
    };
  }
  if (isAcoustic(basename(model)) && tokens !== undefined) {
    const vocoder = second || vocoderIn(names, folder);
    if (vocoder === undefined) {
      throw new Error(
        'it is a Matcha model, and its vocoder is missing: put it into the folder, or name it with --ttswavtokenizer',
      );
    }
    const lexicon = has('lexicon.txt');
    return {
      ...base,
      kind: 'matcha',
      bytes: base.bytes + (await stat(vocoder)).size,
      voices: numberedVoices(metadata, name),
      tokens,
      vocoder,
      ...(lexicon === undefined ? { dataFolder: await espeak() } : { lexicon }),
    };
  }
  if (beside) {
    const piper = await readPiperVoice(config, name);
    return { ...base, kind: 'piper', voices: piperVoices(piper, name), dataFolder: await espeak() };
  }
  if (tokens !== undefined && metadata.has('sample_rate')) {
    const lexicon = has('lexicon.txt');
    return {
      ...base,
      kind: 'vits',
      voices: numberedVoices(metadata, name),
      tokens,
      ...(lexicon === undefined ? { dataFolder: await espeak() } : { lexicon }),
    };
  }
  throw new Error(`the files beside it are missing: ${basename(config)} for a Piper voice, tokens.txt for others`);
}

/** The model of a folder: by its usual names, or else the only one. */
function modelIn(names: readonly string[], folder: string): string | undefined {
  const models = names.filter((name) => /\.onnx$/i.test(name));
  const acoustic = models.find(isAcoustic);
  const usual = ['model.onnx', 'model.int8.onnx', 'model.fp16.onnx'].find((name) => models.includes(name));
  const found = acoustic ?? usual ?? (models.length === 1 ? models[0] : undefined);
  return found === undefined ? undefined : join(folder, found);
}

function isAcoustic(name: string): boolean {
  return /^model-steps.*\.onnx$/i.test(name);
}

function vocoderIn(names: readonly string[], folder: string): string | undefined {
  const found = names.find((name) => /^(vocos|hifigan).*\.onnx$/i.test(name));
  return found === undefined ? undefined : join(folder, found);
}

function lexiconsIn(names: readonly string[], folder: string): string {
  return names
    .filter((name) => /^lexicon.*\.txt$/i.test(name))
    .sort()
    .map((name) => join(folder, name))
    .join(',');
}
