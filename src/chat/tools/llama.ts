import { BareReader } from './bare-reader.ts';
import type { ToolFormat } from './format.ts';

/** Llama 3.1 and later: the whole reply is `{"name": …, "parameters": {…}}`, sometimes after `<|python_tag|>`. */
export const llama: ToolFormat = {
  name: 'llama',
  detect: (template) => template.includes('<|python_tag|>') || template.includes('<|start_header_id|>ipython'),
  create: (options) => new BareReader(['<|python_tag|>'], options),
};
