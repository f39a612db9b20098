import { commandR } from './command-r.ts';
import { deepseek } from './deepseek.ts';
import type { ToolFormat } from './format.ts';
import { functionary } from './functionary.ts';
import { gemma } from './gemma.ts';
import { generic } from './generic.ts';
import { glm } from './glm.ts';
import { granite } from './granite.ts';
import { harmony } from './harmony.ts';
import { hermes } from './hermes.ts';
import { kimi } from './kimi.ts';
import { llama } from './llama.ts';
import { minimax } from './minimax.ts';
import { mistral } from './mistral.ts';
import { qwenCoder } from './qwen-coder.ts';

/** The most particular first: several formats share tags, and the last one takes what no other knows. */
export const toolFormats: readonly ToolFormat[] = [
  kimi,
  deepseek,
  minimax,
  gemma,
  glm,
  qwenCoder,
  functionary,
  commandR,
  mistral,
  granite,
  hermes,
  harmony,
  llama,
  generic,
];

export function toolFormatOf(template: string | undefined): ToolFormat {
  return toolFormats.find((format) => format.detect(template ?? '')) ?? generic;
}
