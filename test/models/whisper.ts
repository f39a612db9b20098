import { writeFileSync } from 'node:fs';

/** As small as whisper.cpp takes it: half a minute of sound, one layer each way, 64 numbers for each place. */
const shape = { tokens: 51_865, audioContext: 1500, width: 64, layers: 1, heads: 1, textContext: 448, bands: 80 };
/** Those that are in the file; the others stand for times and languages. */
const vocabularySize = 50_257;
/** The number of this type, for a file and for a tensor. */
const halfFloats = 1;

/**
 * A Whisper file in the layout of whisper.cpp, with weights that mean nothing: it is there to be loaded, not to hear.
 */
export function writeDeafWhisper(path: string): void {
  const chunks: Buffer[] = [];
  const integers = (...values: readonly number[]) => chunks.push(Buffer.from(Int32Array.from(values).buffer));
  const floats = (values: Float32Array) => chunks.push(Buffer.from(values.buffer));
  const { tokens, audioContext, width, layers, heads, textContext, bands } = shape;
  integers(
    0x67676d6c,
    tokens,
    audioContext,
    width,
    heads,
    layers,
    textContext,
    width,
    heads,
    layers,
    bands,
    halfFloats,
  );
  integers(bands, 201);
  floats(new Float32Array(bands * 201).fill(0.001));
  integers(vocabularySize);
  for (let token = 0; token < vocabularySize; token += 1) {
    const text = Buffer.from(` w${token}`);
    integers(text.length);
    chunks.push(text);
  }
  const tensor = (name: string, dimensions: readonly number[]) => {
    const isMatrix = name.endsWith('weight') && dimensions.length > 1;
    integers(dimensions.length, Buffer.byteLength(name), isMatrix ? halfFloats : 0, ...dimensions);
    chunks.push(Buffer.from(name));
    const size = dimensions.reduce((product, one) => product * one, 1);
    const values = Float32Array.from({ length: size }, (_, index) => noise(index));
    if (isMatrix) chunks.push(Buffer.from(Uint16Array.from(values, half).buffer));
    else floats(values);
  };
  const pair = (name: string, weight: readonly number[], bias: readonly number[] = [width]) => {
    tensor(`${name}.weight`, weight);
    tensor(`${name}.bias`, bias);
  };
  const attention = (name: string) => {
    for (const part of ['query', 'value', 'out']) pair(`${name}.${part}`, [width, width]);
    tensor(`${name}.key.weight`, [width, width]);
    pair(`${name}_ln`, [width]);
  };
  const perceptron = (name: string) => {
    pair(`${name}.mlp.0`, [width, 4 * width], [4 * width]);
    pair(`${name}.mlp.2`, [4 * width, width]);
    pair(`${name}.mlp_ln`, [width]);
  };
  tensor('encoder.positional_embedding', [width, audioContext]);
  pair('encoder.conv1', [3, bands, width], [1, width]);
  pair('encoder.conv2', [3, width, width], [1, width]);
  pair('encoder.ln_post', [width]);
  tensor('decoder.positional_embedding', [width, textContext]);
  tensor('decoder.token_embedding.weight', [width, tokens]);
  pair('decoder.ln', [width]);
  for (let layer = 0; layer < layers; layer += 1) {
    attention(`encoder.blocks.${layer}.attn`);
    perceptron(`encoder.blocks.${layer}`);
    attention(`decoder.blocks.${layer}.attn`);
    attention(`decoder.blocks.${layer}.cross_attn`);
    perceptron(`decoder.blocks.${layer}`);
  }
  writeFileSync(path, Buffer.concat(chunks));
}

/** For what is neither very large nor very small. */
function half(value: number): number {
  const size = Math.abs(value);
  const exponent = Math.floor(Math.log2(size));
  if (size === 0 || exponent < -14) return 0;
  const sign = value < 0 ? 0x8000 : 0;
  return sign + ((exponent + 15) << 10) + Math.floor((size / 2 ** exponent - 1) * 1024);
}

function noise(index: number): number {
  return Math.sin(index * 12.9898) * 0.02;
}
