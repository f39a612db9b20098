/** A node of the trie of all phrases (Aho-Corasick), so that the cost of a text does not depend on the number of phrases. */
interface Node {
  readonly next: Map<number, Node>;
  readonly depth: number;
  /** The node of the longest proper ending of this path that is itself the beginning of a phrase. */
  fallback: Node | undefined;
  /** The longest phrase that ends here. */
  phrase: string | undefined;
}

/** Immutable: one tree can be shared by finders. */
export type PhraseTree = Node;

export function phraseTree(phrases: readonly string[]): PhraseTree {
  const root = emptyNode(0);
  for (const phrase of phrases) if (phrase !== '') addPhrase(root, phrase);
  linkFallbacks(root);
  return root;
}

/** `rest` is what was not read of the piece in which the phrase ended. */
interface Found {
  readonly text: string;
  readonly match?: { readonly phrase: string; readonly rest: string };
}

export class PhraseFinder {
  readonly #root: PhraseTree;
  #node: PhraseTree;
  /** The end of the text so far that may be the beginning of a phrase; always as long as the node is deep. */
  #held = '';

  constructor(tree: PhraseTree) {
    this.#root = tree;
    this.#node = tree;
  }

  /** Returns the text outside phrases. The phrase that ends first counts, and of several the longest, however cut. */
  push(piece: string): Found {
    for (let index = 0; index < piece.length; index++) {
      this.#node = follow(this.#root, this.#node, piece.charCodeAt(index));
      const { phrase } = this.#node;
      if (phrase === undefined) continue;
      const read = this.#held + piece.slice(0, index + 1);
      this.#restart();
      return { text: read.slice(0, read.length - phrase.length), match: { phrase, rest: piece.slice(index + 1) } };
    }
    const read = this.#held + piece;
    const safe = read.length - this.#node.depth;
    this.#held = read.slice(safe);
    return { text: read.slice(0, safe) };
  }

  /** At the end of the text: what was held back is text after all. */
  flush(): string {
    const held = this.#held;
    this.#restart();
    return held;
  }

  #restart(): void {
    this.#node = this.#root;
    this.#held = '';
  }
}

function emptyNode(depth: number): Node {
  return { next: new Map(), depth, fallback: undefined, phrase: undefined };
}

function addPhrase(root: Node, phrase: string): void {
  let node = root;
  for (let index = 0; index < phrase.length; index++) {
    const code = phrase.charCodeAt(index);
    let child = node.next.get(code);
    if (child === undefined) {
      child = emptyNode(index + 1);
      node.next.set(code, child);
    }
    node = child;
  }
  node.phrase = phrase;
}

/** Breadth first, because a fallback is always less deep than the node that needs it. */
function linkFallbacks(root: Node): void {
  const queue: Node[] = [root];
  for (const node of queue) {
    for (const [code, child] of node.next) {
      child.fallback = node === root ? root : follow(root, node.fallback ?? root, code);
      child.phrase ??= child.fallback.phrase;
      queue.push(child);
    }
  }
}

/** The node after one more character. */
export function follow(root: PhraseTree, from: PhraseTree, code: number): PhraseTree {
  let node: Node | undefined = from;
  while (node !== undefined) {
    const next = node.next.get(code);
    if (next !== undefined) return next;
    node = node.fallback;
  }
  return root;
}
