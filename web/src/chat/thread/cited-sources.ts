import type { Source, Turn } from '../../conversations/conversation.ts';
import { sourceTitle } from '../../documents/passage-title.ts';

/** What a turn may cite, and whether its sources are listed below it. */
export interface TurnSources {
  readonly sources: readonly Source[];
  /** In a few words each, for the marks in the text. */
  readonly labels: readonly string[];
  readonly listed: boolean;
}

export const noSources: TurnSources = { sources: [], labels: [], listed: false };

const maxLength = 240;

/** The title of a source, and below it how its text begins. */
function titleAndText(source: Source): string {
  const plain = source.text.replace(/\s+/g, ' ').trim();
  return `${sourceTitle(source)}\n${plain.length > maxLength ? `${plain.slice(0, maxLength).trimEnd()} …` : plain}`;
}

const made = new WeakMap<readonly Source[], readonly string[]>();

function labelsOf(sources: readonly Source[]): readonly string[] {
  const labels = made.get(sources) ?? sources.map(titleAndText);
  made.set(sources, labels);
  return labels;
}

/**
 * Of each turn of a path. A reply cites the sources of the last message before it that has some; they are listed below the last reply
 * to that message, or below the message while it has none.
 */
export function sourcesByTurn(path: readonly Turn[]): ReadonlyMap<string, TurnSources> {
  const byTurn = new Map<string, TurnSources>();
  let current: readonly Source[] = [];
  let question: Turn | undefined;
  let last: Turn | undefined;
  const list = (): void => {
    const at = last ?? question;
    if (at && question?.sources?.length && !byTurn.get(at.id)?.listed)
      byTurn.set(at.id, { sources: question.sources, labels: labelsOf(question.sources), listed: true });
  };
  for (const turn of path) {
    if (turn.role === 'user') {
      list();
      question = turn;
      last = undefined;
      if (turn.sources?.length) current = turn.sources;
    } else if (turn.role === 'assistant') {
      last = turn;
      // Of other clients, or of a reply that searched by itself.
      const own = turn.sources ?? [];
      if (own.length > 0) current = own;
      if (current.length > 0)
        byTurn.set(turn.id, { sources: current, labels: labelsOf(current), listed: own.length > 0 });
    }
  }
  list();
  return byTurn;
}
