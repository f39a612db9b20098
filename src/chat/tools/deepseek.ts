import { BlockReader, blockFormat } from './block-reader.ts';
import type { ToolFormat } from './format.ts';
import { JsonBody } from './json-body.ts';

/** V3 and R1 write a type before the name and a fence around the arguments, V3.1 neither. */
const header = /^\s*(?:function<｜tool▁sep｜>)?\s*([^\s<`]+)(?:<｜tool▁sep｜>|\s*```json)\s*(?=\{)/;

/** The type alone is no name. */
const completed = (cut: string): string => (/^\s*function<｜tool▁sep｜>\s*$/.test(cut) ? cut : `${cut}{`);

const format = blockFormat(
  {
    open: ['<｜tool▁call▁begin｜>'],
    close: ['<｜tool▁call▁end｜>'],
    dropped: ['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>'],
  },
  (writer) => new JsonBody(writer, { header, completed }),
);

/** `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, a fence with the arguments, `<｜tool▁call▁end｜>`. */
export const deepseek: ToolFormat = {
  name: 'deepseek',
  detect: (template) => template.includes('<｜tool▁call'),
  create: (options) => new BlockReader(format, options),
};
