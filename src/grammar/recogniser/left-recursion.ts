import { operation, type Program } from './program.ts';

/** The number of a rule that may begin with itself, where there is one: following it would never come to a character. */
export function recursiveStart(program: Program): number | undefined {
  return findCircle(firstCalls(program));
}

/** For each rule, the rules that it may call before any character has been read. */
function firstCalls({ operations, operands, nexts, forks, starts }: Program): readonly ReadonlySet<number>[] {
  const calls = Array.from(starts, () => new Set<number>());
  /** The rules that may be empty, and what lies behind the calls of those of which that is not known yet. */
  const empty = new Uint8Array(starts.length);
  const behind = Array.from(starts, (): [rule: number, step: number][] => []);
  const seen = new Uint8Array(operations.length);
  const waiting = Array.from(starts, (step, rule): [rule: number, step: number] => [rule, step]);
  for (let place = waiting.pop(); place; place = waiting.pop()) {
    const [rule, step] = place;
    // A step belongs to one rule, so that it is looked at once.
    if (seen[step] === 1) continue;
    seen[step] = 1;
    const operand = operands[step] as number;
    switch (operations[step]) {
      case operation.fork:
        for (const way of forks[operand] as readonly number[]) waiting.push([rule, way]);
        break;
      case operation.call: {
        calls[rule]?.add(operand);
        const after: [number, number] = [rule, nexts[step] as number];
        if (empty[operand] === 1) waiting.push(after);
        else behind[operand]?.push(after);
        break;
      }
      case operation.end:
        empty[rule] = 1;
        for (const after of behind[rule]?.splice(0) ?? []) waiting.push(after);
        break;
    }
  }
  return calls;
}

/** Without recursion of its own: the chain of calls may be as long as the grammar. */
function findCircle(edges: readonly ReadonlySet<number>[]): number | undefined {
  const done = new Uint8Array(edges.length);
  const onTheWay = new Uint8Array(edges.length);
  for (let first = 0; first < edges.length; first += 1) {
    if (done[first] === 1) continue;
    const way = [{ node: first, rest: [...(edges[first] as ReadonlySet<number>)] }];
    onTheWay[first] = 1;
    for (let place = way.at(-1); place; place = way.at(-1)) {
      const next = place.rest.pop();
      if (next === undefined) {
        onTheWay[place.node] = 0;
        done[place.node] = 1;
        way.pop();
      } else if (onTheWay[next] === 1) {
        return next;
      } else if (done[next] === 0) {
        onTheWay[next] = 1;
        way.push({ node: next, rest: [...(edges[next] as ReadonlySet<number>)] });
      }
    }
  }
  return undefined;
}
