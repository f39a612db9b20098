import { type GgufHeader, numberOf } from './gguf.ts';

/** The names of `general.file_type` by number; `-` is a number that is not in use. */
const fileTypes = (
  'F32 F16 Q4_0 Q4_1 - - - Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M Q6_K IQ2_XXS ' +
  'IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M BF16 - - - TQ1_0 TQ2_0 MXFP4_MOE'
).split(' ');

/** The quantization that the file names, else the type that most of its bytes have. */
export function quantizationOf(header: GgufHeader): string {
  const named = fileTypes[numberOf(header, 'general.file_type') ?? -1] ?? '-';
  if (named !== '-') return named;
  const bytes = new Map<string, number>();
  for (const tensor of header.tensors) bytes.set(tensor.type, (bytes.get(tensor.type) ?? 0) + tensor.bytes);
  const [largest] = [...bytes].sort(([, a], [, b]) => b - a);
  return largest?.[0] ?? 'unknown';
}
