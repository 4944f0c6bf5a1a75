import js from '@eslint/js';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['dist', 'build', 'coverage', 'fencepost-runs'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './test/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      'max-lines': ['error', { max: 400 }],
      'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
      complexity: ['error', 12],
      'no-console': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
    },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/explicit-module-boundary-types': 'off',
    },
  },
  {
    // The client's transactions take version 0 for "any version": they would delete what is not ours.
    files: ['src/**/zookeeper*', 'src/**/zookeeper*/**'],
    rules: {
      'no-restricted-syntax': ['error', 'CallExpression[callee.property.name="transaction"]'],
    },
  },
  {
    files: ['**/*.js'],
    languageOptions: { globals: { process: 'readonly' } },
  },
  {
    // Runs in the browser, inside the report.
    files: ['src/reports/page/*.js'],
    languageOptions: {
      globals: { document: 'readonly', window: 'readonly', placeLabels: 'readonly' },
    },
  },
);
