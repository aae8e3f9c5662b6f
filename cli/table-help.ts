import { PLOT_PACKAGES } from '../formats/charts/plot-packages.ts';
import { installCommand } from '../primitives/host/optional-packages.ts';
import { describe } from './command-line.ts';
import { TABLE_SPECS } from './table-arguments.ts';

/** The help text of `quadrille table --help`. */
export const TABLE_HELP: string = `quadrille table FILE [options]

Filters the rows of a table by a condition, and aggregates them, by groups or as a whole.

FILE is Parquet, Arrow IPC (files and streams, such as Feather) or CSV, recognised by its content. Only the columns that the
question names are read, one part of the file after the other, so that memory does not grow with the number of rows.

${describe(TABLE_SPECS)}

Questions:
  --where      comparisons (< <= > >= = <>) of columns, numbers, 'strings', dates and times as strings ('2001-01-31',
               '2001-01-31 09:30:00'), and sums, differences and products of these; between … and …, in (…), is null; a
               column of bools by itself; and, or, not, parentheses. Names that are not plain words stand in "double quotes".
               What the command prints for a cell is a literal; dates, times and strings stand in 'single quotes'.
               Comparisons with null are unknown, and rows whose condition is unknown are left out, as in SQL.
  --aggregate  count, count(x), count(distinct x), sum(x), avg(x), min(x), max(x), variance(x), median(x),
               quantile(x, 0.9), quantile_cont(x, 0.9), smallest(x, k), largest(x, k), of columns and of + - * of them;
               … as NAME.
               Sums of integers and decimals are exact; sums, averages and variances of floats are exact and rounded once.
               The median of an even number of numbers is the mean of the middle two; of dates, times and strings it is
               the lower of the two. quantile(x, p) does not interpolate: it is one of the values,
               the smallest for which at least a fraction p of the values is at most as large. quantile_cont(x, p), for
               numbers, interpolates between the two values around the place p · (n − 1), as percentile_cont of SQL does.

What is written:
  --out        Without --aggregate and --group-by: the rows, in the order of the file. With --order-by and --limit: the rows
               with the smallest values of a column, or with desc the largest; rows where it is null are left out.
               Otherwise one row for every group, in the order of the keys, nulls last; without --group-by one row.
               Nulls are empty fields in CSV. On a terminal, without --out and --format, the answer is laid out for people,
               as far as the screen takes it.
  --plot       bars of the first aggregate of the groups that is a number, or a histogram of the first column of numbers
               of the rows. It needs these packages: ${installCommand(PLOT_PACKAGES)}
  Medians, quantiles, smallest, largest and distinct counts keep the distinct values of every group; --memory bounds them.
  A run that fails, or is stopped by Ctrl-C, writes no file.

Example:
  quadrille table rides.parquet --where 'fare > 10 and (hour between 7 and 9 or not card)' --group-by zone \\
    --aggregate 'count, avg(fare), median(fare)' --out zones.csv --plot zones.svg
`;
