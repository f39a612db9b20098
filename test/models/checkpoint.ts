import { closeSync, openSync, writeSync } from 'node:fs';

/** A tensor by its name, and what is in it: noise, ones or zeros. */
interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly fill: 'noise' | 'ones' | 'zeros';
}

/**
 * A checkpoint in the layout of Stable Diffusion 1.5, with its real names and shapes and nothing learnt: about 2 GB. What it
 * draws is noise, but it is drawn in the way of any other.
 */
export function writeCheckpoint(path: string): void {
  writeSafetensors(path, [...unet('model.diffusion_model'), ...vae('first_stage_model'), ...clip()]);
}

/** A LoRA in the usual names, for one layer in the middle, strong enough to be seen. */
export function writeLora(path: string): void {
  const layer = 'lora_unet_mid_block_attentions_0_transformer_blocks_0_attn1_to_v';
  writeSafetensors(path, [
    { name: `${layer}.lora_down.weight`, shape: [4, 1280], fill: 'ones' },
    { name: `${layer}.lora_up.weight`, shape: [1280, 4], fill: 'ones' },
  ]);
}

const norm = (name: string, channels: number): Tensor[] => [
  { name: `${name}.weight`, shape: [channels], fill: 'ones' },
  { name: `${name}.bias`, shape: [channels], fill: 'zeros' },
];
const linear = (name: string, from: number, to: number): Tensor[] => [
  { name: `${name}.weight`, shape: [to, from], fill: 'noise' },
  { name: `${name}.bias`, shape: [to], fill: 'zeros' },
];
const bare = (name: string, from: number, to: number): Tensor[] => linear(name, from, to).slice(0, 1);
const convolution = (name: string, from: number, to: number, kernel = 3): Tensor[] => [
  { name: `${name}.weight`, shape: [to, from, kernel, kernel], fill: 'noise' },
  { name: `${name}.bias`, shape: [to], fill: 'zeros' },
];

const [width, time, context] = [320, 1280, 768];
const levels = [1, 2, 4, 4].map((factor) => factor * width);

function unet(root: string): Tensor[] {
  const all = [
    ...linear(`${root}.time_embed.0`, width, time),
    ...linear(`${root}.time_embed.2`, time, time),
    ...convolution(`${root}.input_blocks.0.0`, 4, width),
  ];
  const shape = [width];
  let channels = width;
  let block = 1;
  for (const [level, next] of levels.entries()) {
    for (let turn = 0; turn < 2; turn += 1, block += 1) {
      all.push(...residual(`${root}.input_blocks.${block}.0`, channels, next));
      if (level < 3) all.push(...attention(`${root}.input_blocks.${block}.1`, next));
      channels = next;
      shape.push(channels);
    }
    if (level === 3) break;
    all.push(...convolution(`${root}.input_blocks.${block}.0.op`, channels, channels));
    shape.push(channels);
    block += 1;
  }
  all.push(...residual(`${root}.middle_block.0`, channels, channels));
  all.push(...attention(`${root}.middle_block.1`, channels));
  all.push(...residual(`${root}.middle_block.2`, channels, channels));
  block = 0;
  for (const [turned, next] of [...levels].reverse().entries()) {
    for (let turn = 0; turn < 3; turn += 1, block += 1) {
      const name = `${root}.output_blocks.${block}`;
      all.push(...residual(`${name}.0`, channels + (shape.pop() ?? 0), next));
      channels = next;
      if (turned > 0) all.push(...attention(`${name}.1`, channels));
      if (turn === 2 && turned < 3) all.push(...convolution(`${name}.${turned > 0 ? 2 : 1}.conv`, channels, channels));
    }
  }
  return [...all, ...norm(`${root}.out.0`, width), ...convolution(`${root}.out.2`, width, 4)];
}

function residual(name: string, from: number, to: number): Tensor[] {
  return [
    ...norm(`${name}.in_layers.0`, from),
    ...convolution(`${name}.in_layers.2`, from, to),
    ...linear(`${name}.emb_layers.1`, time, to),
    ...norm(`${name}.out_layers.0`, to),
    ...convolution(`${name}.out_layers.3`, to, to),
    ...(from === to ? [] : convolution(`${name}.skip_connection`, from, to, 1)),
  ];
}

function attention(name: string, channels: number): Tensor[] {
  const inner = `${name}.transformer_blocks.0`;
  const looks = [
    ['attn1', channels],
    ['attn2', context],
  ] as const;
  return [
    ...norm(`${name}.norm`, channels),
    ...convolution(`${name}.proj_in`, channels, channels, 1),
    ...looks.flatMap(([look, seen]) => [
      ...bare(`${inner}.${look}.to_q`, channels, channels),
      ...bare(`${inner}.${look}.to_k`, seen, channels),
      ...bare(`${inner}.${look}.to_v`, seen, channels),
      ...linear(`${inner}.${look}.to_out.0`, channels, channels),
    ]),
    ...linear(`${inner}.ff.net.0.proj`, channels, channels * 8),
    ...linear(`${inner}.ff.net.2`, channels * 4, channels),
    ...[1, 2, 3].flatMap((turn) => norm(`${inner}.norm${turn}`, channels)),
    ...convolution(`${name}.proj_out`, channels, channels, 1),
  ];
}

function vae(root: string): Tensor[] {
  const sizes = [128, 256, 512, 512];
  const block = (name: string, from: number, to: number): Tensor[] => [
    ...norm(`${name}.norm1`, from),
    ...convolution(`${name}.conv1`, from, to),
    ...norm(`${name}.norm2`, to),
    ...convolution(`${name}.conv2`, to, to),
    ...(from === to ? [] : convolution(`${name}.nin_shortcut`, from, to, 1)),
  ];
  const middle = (name: string): Tensor[] => [
    ...block(`${name}.mid.block_1`, 512, 512),
    ...norm(`${name}.mid.attn_1.norm`, 512),
    ...['q', 'k', 'v', 'proj_out'].flatMap((part) => convolution(`${name}.mid.attn_1.${part}`, 512, 512, 1)),
    ...block(`${name}.mid.block_2`, 512, 512),
    ...norm(`${name}.norm_out`, name.endsWith('encoder') ? 512 : 128),
  ];
  const [encoder, decoder] = [`${root}.encoder`, `${root}.decoder`];
  const all = [
    ...convolution(`${encoder}.conv_in`, 3, 128),
    ...middle(encoder),
    ...convolution(`${encoder}.conv_out`, 512, 8),
    ...convolution(`${decoder}.conv_in`, 4, 512),
    ...middle(decoder),
    ...convolution(`${decoder}.conv_out`, 128, 3),
    ...convolution(`${root}.quant_conv`, 8, 8, 1),
    ...convolution(`${root}.post_quant_conv`, 4, 4, 1),
  ];
  for (const [level, size] of sizes.entries()) {
    const before = sizes[level - 1] ?? 128;
    const after = sizes[level + 1] ?? 512;
    for (const turn of [0, 1])
      all.push(...block(`${encoder}.down.${level}.block.${turn}`, turn === 0 ? before : size, size));
    if (level < 3) all.push(...convolution(`${encoder}.down.${level}.downsample.conv`, size, size));
    for (const turn of [0, 1, 2])
      all.push(...block(`${decoder}.up.${level}.block.${turn}`, turn === 0 ? after : size, size));
    if (level > 0) all.push(...convolution(`${decoder}.up.${level}.upsample.conv`, size, size));
  }
  return all;
}

function clip(): Tensor[] {
  const root = 'cond_stage_model.transformer.text_model';
  const layers = Array.from({ length: 12 }, (_, layer) => {
    const name = `${root}.encoder.layers.${layer}`;
    return [
      ...['q_proj', 'k_proj', 'v_proj', 'out_proj'].flatMap((part) =>
        linear(`${name}.self_attn.${part}`, context, context),
      ),
      ...norm(`${name}.layer_norm1`, context),
      ...linear(`${name}.mlp.fc1`, context, 3072),
      ...linear(`${name}.mlp.fc2`, 3072, context),
      ...norm(`${name}.layer_norm2`, context),
    ];
  });
  return [
    { name: `${root}.embeddings.token_embedding.weight`, shape: [49_408, context], fill: 'noise' },
    { name: `${root}.embeddings.position_embedding.weight`, shape: [77, context], fill: 'noise' },
    ...layers.flat(),
    ...norm(`${root}.final_layer_norm`, context),
  ];
}

const countOf = ({ shape }: Tensor): number => shape.reduce((product, side) => product * side, 1);

function writeSafetensors(path: string, tensors: readonly Tensor[]): void {
  let end = 0;
  const header: Record<string, object> = {};
  for (const tensor of tensors) {
    const start = end;
    end += 2 * countOf(tensor);
    header[tensor.name] = { dtype: 'F16', shape: tensor.shape, data_offsets: [start, end] };
  }
  const headerBytes = Buffer.from(JSON.stringify(header));
  const padded = Buffer.concat([headerBytes, Buffer.alloc((8 - (headerBytes.length % 8)) % 8, ' ')]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  const file = openSync(path, 'w');
  writeSync(file, length);
  writeSync(file, padded);
  const pools = new Map<number, Uint16Array>();
  for (const tensor of tensors) writeSync(file, new Uint8Array(valuesOf(tensor, pools).buffer));
  closeSync(file);
}

const poolSize = 1 << 20;
const one = 0x3c00;

/** As wide as keeps the size of what goes through; the noise repeats, which nobody sees. */
function valuesOf(tensor: Tensor, pools: Map<number, Uint16Array>): Uint16Array {
  const values = new Uint16Array(countOf(tensor));
  if (tensor.fill !== 'noise') return values.fill(tensor.fill === 'ones' ? one : 0);
  const inputs = tensor.shape.slice(1).reduce((product, side) => product * side, 1);
  const pool = pools.get(inputs) ?? noise(1 / Math.sqrt(inputs), inputs);
  pools.set(inputs, pool);
  for (let at = 0; at < values.length; at += pool.length) values.set(pool.subarray(0, values.length - at), at);
  return values;
}

function noise(spread: number, seed: number): Uint16Array {
  let state = seed >>> 0 || 1;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return Uint16Array.from({ length: poolSize }, () => half((random() + random() + random() - 1.5) * 2 * spread));
}

/** The nearest below, which is near enough for noise. */
function half(value: number): number {
  const magnitude = Math.abs(value);
  const sign = value < 0 ? 0x8000 : 0;
  const exponent = Math.floor(Math.log2(magnitude));
  if (!Number.isFinite(exponent) || exponent < -14) return sign;
  return sign | ((exponent + 15) << 10) | Math.floor((magnitude / 2 ** exponent - 1) * 1024);
}
