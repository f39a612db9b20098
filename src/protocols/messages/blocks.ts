import { type Content, joinContent, text, wordsOf } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import {
  isAbsent,
  oneOf,
  optionalText,
  type Read,
  readAt,
  readList,
  readObject,
  readText,
  wrong,
} from '../fields/readers.ts';
import type { Said } from '../fields/table.ts';
import type { Attachments } from '../media.ts';

export interface Block {
  readonly type: string;
  readonly fields: JsonObject;
  /** Where it stands in the request: `messages[0].content[2]`. */
  readonly field: string;
}

/** Told of the place of everything that has no effect, so that the client can be told too. */
export type Pass = (field: string) => void;

/** A content is a text, which is the same as one block of text, or a list of blocks. */
export function readBlocks(content: unknown, field: string): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', fields: { text: content }, field }];
  if (!Array.isArray(content)) throw wrong(field, 'a string or an array of content blocks');
  return content.map((entry, index) => readBlock(entry, `${field}[${index}]`));
}

const readBlock: Read<Block> = (value, field) => {
  const fields = readObject(value, field);
  return { type: readAt(fields, 'type', field, readText), fields, field };
};

/** What a request is read into, beside its text. */
export interface Reading {
  readonly pass: Pass;
  readonly attachments: Attachments;
}

type BlockReader = (block: Block, reading: Reading) => Content;

/** The blocks that say or show something wherever they stand. */
export const blockKinds: Readonly<Record<string, Said & { readonly read: BlockReader }>> = {
  text: { handling: 'honoured', read: ({ fields, field }) => text(readAt(fields, 'text', field, readText)) },
  image: {
    handling: 'honoured',
    read: image,
    note: 'Sources base64 and url (on the public internet; 10 MB, 10 seconds, at most 16); file ids are refused, and so is every picture where the loaded model has no projector (--mmproj). Not in the count of tokens, which then says so in x-parley-warnings.',
  },
  document: {
    handling: 'approximated',
    read: document,
    note: 'Sources text and content are put in as text with title and context; citations are not made. PDF, URL and file sources are refused.',
  },
  search_result: {
    handling: 'approximated',
    read: searchResult,
    note: 'As text with its title and source; citations are not made.',
  },
  compaction: {
    handling: 'honoured',
    read: ({ fields, field }) => text(readAt(fields, 'content', field, optionalText) ?? ''),
    note: 'An earlier part of the conversation, summed up by whoever served it: as text.',
  },
  tool_reference: {
    handling: 'approximated',
    read: ({ fields, field }) => text(`Tool found: ${readAt(fields, 'tool_name', field, readText)}`),
    note: 'The name of the tool, as text.',
  },
};

/** What a block says; blocks of kinds that nobody here knows are passed over, as their clients expect. */
export function blockContent(block: Block, reading: Reading): Content {
  const kind = Object.hasOwn(blockKinds, block.type) ? blockKinds[block.type] : undefined;
  if (kind) return kind.read(block, reading);
  reading.pass(block.field);
  return [];
}

/** For places where only words can stand. */
export function blockText(block: Block, reading: Reading): string {
  if (block.type === 'image') throw wrong(`${block.field}.type`, 'another one: there is no room for pictures here');
  return wordsOf(blockContent(block, reading));
}

/** Blocks that stand side by side are paragraphs of their own. */
export function joinTexts(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n');
}

function blocksContent(content: unknown, field: string, reading: Reading): Content {
  return joinContent(
    readBlocks(content, field).map((block) => blockContent(block, reading)),
    '\n',
  );
}

/** What a tool gave back: nothing, a text, or blocks. */
export function resultContent(content: unknown, field: string, reading: Reading): Content {
  if (typeof content === 'string') return reading.attachments.toolResult(content, field);
  return isAbsent(content) ? [] : blocksContent(content, field, reading);
}

/** A file id means a store that is not here. */
function image({ fields, field }: Block, { attachments }: Reading): Content {
  const place = `${field}.source`;
  const source = readObject(fields.source, place);
  switch (readImageSource(source.type, `${place}.type`)) {
    case 'base64': {
      const format = readAt(source, 'media_type', place, optionalText);
      const data = readAt(source, 'data', place, readText);
      return [attachments.add({ kind: 'image', data, field: `${place}.data`, format })];
    }
    case 'url':
      return [attachments.add({ kind: 'image', data: readAt(source, 'url', place, readText), field: `${place}.url` })];
    case 'file':
      throw new AppError('unsupported', {
        feature: `An image by its file id (${place})`,
        instead: 'this server keeps no files; send the picture itself',
      });
  }
}

const readImageSource = oneOf('base64', 'url', 'file');

function document({ fields, field }: Block, reading: Reading): Content {
  const source = readAt(fields, 'source', field, readObject);
  const type = readAt(source, 'type', `${field}.source`, readText);
  const title = readAt(fields, 'title', field, optionalText);
  const context = readAt(fields, 'context', field, optionalText);
  const told = [...(title ? [`Title: ${title}`] : []), ...(context ? [`Context: ${context}`] : [])];
  const inside = documentSource(type, source, `${field}.source`, reading);
  return between(['<document>', ...told], inside, '</document>');
}

function documentSource(type: string, source: JsonObject, field: string, reading: Reading): Content {
  if (type === 'text') return text(readAt(source, 'data', field, readText));
  if (type === 'content') return blocksContent(source.content, `${field}.content`, reading);
  throw new AppError('unsupported', {
    feature: `A document that is no text (${field})`,
    instead: 'send what it says with a source of the type text',
  });
}

function searchResult({ fields, field }: Block, reading: Reading): Content {
  const title = readAt(fields, 'title', field, readText);
  const source = readAt(fields, 'source', field, readText);
  readAt(fields, 'content', field, readList);
  const found = blocksContent(fields.content, `${field}.content`, reading);
  return between(['<search_result>', `Title: ${title}`, `Source: ${source}`], found, '</search_result>');
}

/** Lines, what stands below them, and the line that closes it. */
function between(opening: readonly string[], inside: Content, closing: string): Content {
  return joinContent([text(opening.join('\n')), inside, text(closing)], '\n');
}
