export const texts = {
  reasoning: {
    auto: 'Reasoning effort: auto',
    none: 'Reasoning effort: off',
    low: 'Reasoning effort: low',
    medium: 'Reasoning effort: medium',
    high: 'Reasoning effort: high',
  },
} as const;
