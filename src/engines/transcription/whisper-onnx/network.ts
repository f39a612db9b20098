import { readFile } from 'node:fs/promises';
import { keepOutputs } from '../../onnx/model-file.ts';
import { type InputTensor, OnnxSession, type OnnxValue } from '../../onnx/session.ts';
import type { Attention } from './align.ts';
import type { Decoder, DecoderState } from './decode.ts';
import { bands, windowFrames } from './mel.ts';

interface NetworkShape {
  readonly layers: number;
  readonly heads: number;
  /** Width of a head. */
  readonly width: number;
  /** Layer and number of the heads that follow the speech. */
  readonly alignmentHeads: readonly (readonly [number, number])[];
}

/** Output of the encoder. */
const encoded = 'last_hidden_state';
const steps = windowFrames / 2;

/** Encoder and decoder of a Whisper model in ONNX form, as Transformers exports them. */
export class WhisperNetwork {
  private constructor(
    private readonly encoder: OnnxSession,
    private readonly decoder: OnnxSession,
    private readonly shape: NetworkShape,
  ) {}

  static async open(
    files: { readonly encoder: string; readonly decoder: string },
    shape: NetworkShape,
    threads: number,
  ): Promise<WhisperNetwork> {
    const encoder = await OnnxSession.open(keepOutputs(await readFile(files.encoder), [encoded]), {
      threads,
      arena: false,
    });
    const decoder = await OnnxSession.open(await readFile(files.decoder), { threads });
    return new WhisperNetwork(encoder, decoder, shape);
  }

  /** Must be closed. */
  async window(mel: Float32Array, signal: AbortSignal): Promise<WhisperWindow> {
    const inputs = { input_features: { data: mel, shape: [1, bands, windowFrames] } };
    const [sound] = await this.encoder.compute(inputs, [encoded], signal);
    return new WhisperWindow(this.decoder, this.shape, sound as OnnxValue);
  }

  close(): void {
    this.encoder.release();
    this.decoder.release();
  }
}

/** A state holds keys and values of the tokens so far; those of the sound belong to the window. */
class State implements DecoderState {
  constructor(
    private readonly output: OnnxValue,
    readonly past: Readonly<Record<string, OnnxValue>>,
  ) {}

  /** Of the last token. */
  logits(): Float32Array {
    const { data, shape } = this.output.read();
    return data.subarray(data.length - (shape.at(-1) ?? 0));
  }

  release(): void {
    this.output.release();
    for (const value of Object.values(this.past)) value.release();
  }
}

/** The decoder on one window of sound. Keys and values of the sound are computed by the first `begin`. */
export class WhisperWindow implements Decoder {
  #sound: Readonly<Record<string, OnnxValue>> | undefined;

  constructor(
    private readonly decoder: OnnxSession,
    private readonly shape: NetworkShape,
    private readonly encoded: OnnxValue,
  ) {}

  async begin(tokens: readonly number[], signal: AbortSignal): Promise<DecoderState> {
    const isFirst = this.#sound === undefined;
    const names = [...this.#names('decoder'), ...(isFirst ? this.#names('encoder') : [])];
    const { logits, past } = await this.#decode(this.#first(tokens), names, signal);
    const of = (part: string) => Object.fromEntries(past.filter(([name]) => name.includes(part)));
    if (isFirst) this.#sound = of('.encoder.');
    return new State(logits, of('.decoder.'));
  }

  async next(state: DecoderState, token: number, signal: AbortSignal): Promise<DecoderState> {
    const inputs = { ...this.#tokens([token], true), ...(state as State).past, ...this.#sound };
    const { logits, past } = await this.#decode(inputs, this.#names('decoder'), signal);
    return new State(logits, Object.fromEntries(past));
  }

  /** The logits, and the keys and values of these names as inputs of the next run. */
  async #decode(inputs: Record<string, InputTensor | OnnxValue>, names: readonly string[], signal: AbortSignal) {
    const outputs = ['logits', ...names.map((name) => `present.${name}`)];
    const [logits, ...values] = (await this.decoder.compute(inputs, outputs, signal)) as [OnnxValue, ...OnnxValue[]];
    const past = names.map((name, index) => [`past_key_values.${name}`, values[index] as OnnxValue] as const);
    return { logits, past };
  }

  /** Attention of the aligned heads in the places of all tokens but the last, to the first steps of the window. */
  async attention(tokens: readonly number[], columns: number, signal: AbortSignal): Promise<Attention[]> {
    const layers = [...new Set(this.shape.alignmentHeads.map(([layer]) => layer))];
    const outputs = layers.map((layer) => `cross_attentions.${layer}`);
    const values = await this.decoder.compute(this.#first(tokens), outputs, signal);
    try {
      const read = values.map((value) => value.read().data);
      const rows = tokens.length - 1;
      return this.shape.alignmentHeads.map(([layer, head]) => {
        const data = read[layers.indexOf(layer)] as Float32Array;
        const weights = new Float32Array(rows * columns);
        for (let row = 0; row < rows; row++) {
          const start = (head * tokens.length + row) * steps;
          weights.set(data.subarray(start, start + columns), row * columns);
        }
        return { weights, rows, columns };
      });
    } finally {
      for (const value of values) value.release();
    }
  }

  close(): void {
    this.encoded.release();
    for (const value of Object.values(this.#sound ?? {})) value.release();
  }

  #names(part: 'decoder' | 'encoder'): readonly string[] {
    return Array.from({ length: this.shape.layers }, (_, layer) => [
      `${layer}.${part}.key`,
      `${layer}.${part}.value`,
    ]).flat();
  }

  /** Inputs of a run without a past, for which the network has empty tensors. */
  #first(tokens: readonly number[]): Record<string, InputTensor | OnnxValue> {
    const { heads, width } = this.shape;
    const empty = { data: new Float32Array(), shape: [1, heads, 0, width] };
    const names = [...this.#names('decoder'), ...this.#names('encoder')];
    const past = Object.fromEntries(names.map((name) => [`past_key_values.${name}`, empty]));
    return { ...this.#tokens(tokens, false), ...past };
  }

  #tokens(tokens: readonly number[], cached: boolean): Record<string, InputTensor | OnnxValue> {
    return {
      input_ids: { data: BigInt64Array.from(tokens, BigInt), shape: [1, tokens.length] },
      encoder_hidden_states: this.encoded,
      use_cache_branch: { data: Uint8Array.of(cached ? 1 : 0), shape: [1] },
    };
  }
}
