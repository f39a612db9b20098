import { defaultSamplerOrder, samplerStages } from '../../../src/core/sampling-fields.ts';

/** Numbers of the stages in their default order. */
export const defaultOrder: readonly number[] = defaultSamplerOrder.map((stage) => samplerStages.indexOf(stage));

/** All stages: those that are missing come first, in their default order. */
export function completeOrder(order: readonly number[]): readonly number[] {
  if (order.length === 0) return defaultOrder;
  const known = [...new Set(order)].filter((stage) => defaultOrder.includes(stage));
  return [...defaultOrder.filter((stage) => !known.includes(stage)), ...known];
}

/** All stages, or nothing for the default order. */
export function storedOrder(order: readonly number[]): readonly number[] {
  const complete = completeOrder(order);
  return complete.join() === defaultOrder.join() ? [] : complete;
}

/** Moves a stage to another place. */
export function moved(order: readonly number[], from: number, to: number): readonly number[] {
  const next = [...completeOrder(order)];
  const [stage] = next.splice(from, 1);
  if (stage === undefined || to < 0 || to > next.length) return order;
  next.splice(to, 0, stage);
  return storedOrder(next);
}
