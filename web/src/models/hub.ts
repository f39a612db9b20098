import { type HubModel, hubOrders } from '../../../src/core/models-view.ts';

export { type HubModel, hubOrders };
export type HubOrder = (typeof hubOrders)[number];

/** One quantization of a model. */
export interface HubFile {
  /** The tag for a download (`owner/name:TAG`). */
  readonly name: string;
  /** Of all parts. */
  readonly bytes: number;
  readonly fit: 'card' | 'part' | 'processor' | 'no' | null;
  readonly memory_bytes: number | null;
  readonly card_layers: number | null;
  readonly layers: number | null;
  readonly speed: 'fast' | 'good' | 'slow' | 'very slow' | null;
  readonly chosen: boolean;
}

/** The reply of `GET /api/admin/search/files`. */
export interface HubFiles {
  readonly model: string;
  readonly supported: boolean | null;
  readonly context: number | null;
  readonly files: readonly HubFile[];
  readonly projector: { readonly bytes: number } | null;
  readonly draft: { readonly bytes: number } | null;
}

/** The bytes of a file and of what is downloaded with it. */
export function downloadBytes({ bytes }: HubFile, { projector, draft }: HubFiles): number {
  return bytes + (projector?.bytes ?? 0) + (draft?.bytes ?? 0);
}

/** The text as the server reads it, if it is the address of a model: of its page, `owner/name:Q4_K_M`, a file, or `qwen3:8b` of Ollama. */
export function modelAddress(text: string): string | undefined {
  const word = text.trim();
  const isPage = /^https:\/\/(www\.)?((hf|huggingface)\.co|ollama\.com)\/[\w.-]+\/[\w.-]+/i.test(word);
  if (/^https:\/\//i.test(word)) return isPage || /\.gguf(\?.*)?$/i.test(word) ? word : undefined;
  if (/^(ollama:)?[\w.-]+:[\w.-]+$/i.test(word)) return word;
  const name = word.replace(/^(hf:|hf\.co\/|huggingface\.co\/)/, '');
  return /^[\w.-]+\/[\w.-]+(@[\w.-]+)?(:[\w.-]+|\/[\w./ -]+\.gguf)?$/i.test(name) ? `hf.co/${name}` : undefined;
}

/** `owner/name`, if the address is that of a model without a file: one of its files is to be chosen. */
export function repositoryOf(address: string): string | undefined {
  return /^(?:hf\.co\/|https:\/\/(?:www\.)?(?:hf|huggingface)\.co\/)([\w.-]+\/[\w.-]+)\/?(?:tree\/main\/?)?$/i.exec(
    address,
  )?.[1];
}
