import { PhraseFinder, type PhraseTree, phraseTree } from '../../patterns/phrase-finder.ts';
import { type Body, CallWriter, type ToolEvent, type ToolReader, type ToolReaderOptions } from './format.ts';

export interface BlockTags {
  readonly open: readonly string[];
  /** None where a block ends with the reply. */
  readonly close: readonly string[];
  /** Tags around the blocks that mean nothing by themselves. */
  readonly dropped: readonly string[];
}

export interface BlockFormat {
  readonly tags: BlockTags;
  readonly outside: PhraseTree;
  readonly inside: PhraseTree;
  body(writer: CallWriter, options: ToolReaderOptions): Body;
}

export function blockFormat(tags: BlockTags, body: BlockFormat['body']): BlockFormat {
  const outside = phraseTree([...tags.open, ...tags.dropped]);
  return { tags, outside, inside: phraseTree([...tags.open, ...tags.close]), body };
}

interface Block {
  readonly opening: string;
  readonly body: Body;
  readonly finder: PhraseFinder;
}

/** Text with blocks of calls in it. An opening tag inside a block ends it and begins the next. */
export class BlockReader implements ToolReader {
  readonly #format: BlockFormat;
  readonly #options: ToolReaderOptions;
  readonly #writer: CallWriter;
  readonly #outside: PhraseFinder;
  #block: Block | undefined;

  constructor(format: BlockFormat, options: ToolReaderOptions) {
    this.#format = format;
    this.#options = options;
    this.#writer = new CallWriter(options.newId);
    this.#outside = new PhraseFinder(format.outside);
  }

  push(text: string): readonly ToolEvent[] {
    let unread = text;
    while (unread !== '') unread = this.#block ? this.#readInside(this.#block, unread) : this.#readOutside(unread);
    return this.#writer.take();
  }

  finish(cut: boolean): readonly ToolEvent[] {
    if (this.#block) {
      // Half a tag is no part of the calls that it was to end.
      const held = this.#block.finder.flush();
      if (!cut) this.#block.body.push(held);
      this.#closeBlock(this.#block, cut ? held : '', cut);
    } else {
      const held = this.#outside.flush();
      if (!cut || this.#writer.calls === 0) this.#writer.text(held);
    }
    this.#writer.finish();
    return this.#writer.take();
  }

  #readOutside(text: string): string {
    const { text: plain, match } = this.#outside.push(text);
    this.#writer.text(plain);
    if (match && this.#format.tags.open.includes(match.phrase)) this.#openBlock(match.phrase);
    return match?.rest ?? '';
  }

  #readInside(block: Block, text: string): string {
    const { body, finder } = block;
    if (body.insideArguments) return body.pushArguments(text);
    const { text: plain, match } = finder.push(text);
    body.push(plain);
    if (body.insideArguments) {
      // What looks like a tag, or the beginning of one, is part of the arguments.
      return match ? match.phrase + match.rest : body.pushArguments(finder.flush());
    }
    if (match) {
      const reopened = this.#format.tags.open.includes(match.phrase);
      this.#closeBlock(block, reopened ? '' : match.phrase);
      if (reopened) this.#openBlock(match.phrase);
    }
    return match?.rest ?? '';
  }

  #openBlock(opening: string): void {
    const body = this.#format.body(this.#writer, this.#options);
    this.#block = { opening, body, finder: new PhraseFinder(this.#format.inside) };
  }

  #closeBlock({ opening, body }: Block, closing: string, cut = false): void {
    this.#block = undefined;
    const { calls, leftover } = body.end(cut);
    if (calls === 0) this.#writer.text(opening + leftover + closing);
    else if (leftover !== '') this.#writer.text(leftover);
  }
}
