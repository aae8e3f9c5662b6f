import { PLOT_PACKAGES } from '../formats/plot-packages.ts';
import { installCommand } from '../primitives/optional-packages.ts';
import { describe } from './command-line.ts';
import { TABLE_SPECS } from './table-arguments.ts';

/** The page of `quadrille table --help`. */
export const TABLE_HELP: string = `quadrille table FILE [options]

Answers questions to a table: which rows a condition holds for, and what they come to, by groups or as a whole.

FILE is Parquet, Arrow IPC (files and streams, as Feather has them) or CSV, as its content tells. It is read part by part, only
the columns that the question names, so that memory does not grow with the number of rows.

${describe(TABLE_SPECS)}

What is asked:
  --where      comparisons (< <= > >= = <>) of columns, numbers, 'strings' and dates or times as strings ('2001-01-31',
               '2001-01-31 09:30:00'), and of sums, differences and products of these; between … and …, in (…), is null, a
               column of bools as it is; and, or, not, parentheses. Names that are no words stand in "double quotes".
               Null is neither more nor less: rows for which the condition is not known are left out, as in SQL.
  --aggregate  count, count(x), count(distinct x), sum(x), avg(x), min(x), max(x), variance(x), median(x),
               quantile(x, 0.9), smallest(x, k), largest(x, k), of columns and of + - * of them; … as NAME.
               Sums of integers and decimals are exact. Sums of floats are added up in the order of the file in 64 bits, with
               what rounding takes off kept beside. The median of an even number of numbers is the mean of the middle two, of
               dates, times and strings the lower.

What is written:
  --out        without --aggregate and --group-by the rows, in the order of the file; with --order-by and --top those with the
               least values of a column, or with desc the greatest, of rows that have one. Else a row for every group, in the
               order of its keys, nulls last; without --group-by one row. Nulls are empty fields in CSV.
  --plot       bars of the first number that groups come to, or a histogram of the first column of numbers that is written.
               It is drawn by packages of their own: ${installCommand(PLOT_PACKAGES)}
  Medians, quantiles, smallest, largest and distinct counts keep the different values of every group: --memory bounds them.
  A run that fails, or is stopped by Ctrl-C, writes no file.

  quadrille table rides.parquet --where 'fare > 10 and (hour between 7 and 9 or not card)' --group-by zone \\
    --aggregate 'count, avg(fare), median(fare)' --out zones.csv --plot zones.svg
`;
