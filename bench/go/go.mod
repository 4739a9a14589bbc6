module carillon/bench

go 1.19
