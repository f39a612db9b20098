import { type RuntimeValue, runtimeFunction, runtimeValue, type Statement } from './template-library.ts';

/**
 * What the language does and the library does not, as far as templates of real models need it: a missing value can be
 * walked through like an empty list, lists can grow and shrink, and tuples can be taken apart.
 */
const listFilters: ReadonlySet<string> = new Set(
  'first join last length list map reject rejectattr reverse select selectattr sort unique'.split(' '),
);

/** The parts of a node whose values it walks through. */
export function listOperands(statement: Statement | undefined): readonly Statement[] {
  if (statement?.type === 'For') {
    const { iterable } = statement as Statement & { iterable: Statement };
    return [iterable.type === 'SelectExpression' ? (iterable as Statement & { lhs: Statement }).lhs : iterable];
  }
  if (statement?.type === 'FilterExpression') {
    const { operand, filter } = statement as Statement & { operand: Statement; filter: FilterName };
    const name = typeof filter.value === 'string' ? filter.value : filter.callee?.value;
    return name !== undefined && listFilters.has(name) ? [operand] : [];
  }
  return [];
}

interface FilterName {
  readonly value?: string;
  readonly callee?: { readonly value?: string };
}

export function fillGaps(result: RuntimeValue, walked: boolean, mostItems: number): RuntimeValue {
  switch (result.type) {
    case 'UndefinedValue':
    case 'NullValue':
      return walked ? runtimeValue([]) : result;
    case 'TupleValue':
      result.type = 'ArrayValue';
      return result;
    case 'ArrayValue':
      addListMethods(result, mostItems);
      return result;
    default:
      return result;
  }
}

function addListMethods(list: RuntimeValue, mostItems: number): void {
  const methods = list.builtins as Map<string, RuntimeValue>;
  if (methods.has('append')) return;
  const items = list.value as RuntimeValue[];
  methods.set(
    'append',
    runtimeFunction(([item]) => {
      if (items.length >= mostItems) throw new Error('the template makes a list that is too large');
      if (item) items.push(item);
      return runtimeValue(null);
    }),
  );
  methods.set(
    'pop',
    runtimeFunction(([index]) => {
      const place = typeof index?.value === 'number' ? index.value : -1;
      return items.splice(place, 1)[0] ?? runtimeValue(undefined);
    }),
  );
}
